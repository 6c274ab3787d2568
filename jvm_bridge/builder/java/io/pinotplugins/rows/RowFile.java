package io.pinotplugins.rows;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import org.apache.pinot.core.segment.processing.genericrow.GenericRowFileManager;
import org.apache.pinot.segment.local.segment.creator.TransformPipeline;
import org.apache.pinot.spi.data.DimensionFieldSpec;
import org.apache.pinot.spi.data.FieldSpec;
import org.apache.pinot.spi.data.FieldSpec.DataType;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.data.readers.RecordReader;
import org.apache.pinot.spi.utils.BigDecimalUtils;
import org.apache.pinot.spi.utils.BytesUtils;

/**
 * Rows of many files, transformed, in the file that Pinot's tasks use for merging segments. That cannot hold every type:
 * a BIG_DECIMAL is stored as the bytes that Pinot makes of it, and bytes of which a row has several as hexadecimal
 * digits. Used by one thread.
 */
public final class RowFile implements Closeable {
  private final GenericRowFileManager _manager;
  private final TransformPipeline _pipeline;
  private final Method _process;
  private final Constructor<?> _newResult;
  private final List<String> _late = new ArrayList<>();
  private long _rows;

  /**
   * @param folder an empty folder
   * @param columns the table's columns
   * @param withNulls whether to store which values are null
   * @param pipeline transforms the rows
   */
  public RowFile(File folder, List<FieldSpec> columns, boolean withNulls, TransformPipeline pipeline)
      throws ReflectiveOperationException {
    List<FieldSpec> stored = new ArrayList<>();
    for (FieldSpec column : columns) {
      DataType type = storedType(column);
      if (type != column.getDataType()) {
        _late.add(column.getName());
        stored.add(new DimensionFieldSpec(column.getName(), type, column.isSingleValueField()));
      } else {
        stored.add(column);
      }
    }
    _manager = new GenericRowFileManager(folder, stored, withNulls, 0);
    _pipeline = pipeline;
    _process = method("processRow");
    // Until 1.3 the caller passes the result.
    _newResult = _process.getParameterCount() > 1 ? TransformPipeline.Result.class.getConstructor() : null;
  }

  private static Method method(String name) {
    for (Method method : TransformPipeline.class.getMethods()) {
      if (method.getName().equals(name)) {
        return method;
      }
    }
    throw new IllegalStateException("a pipeline has no method " + name);
  }

  private static DataType storedType(FieldSpec column) {
    if (column.getDataType() == DataType.BIG_DECIMAL) {
      return DataType.BYTES;
    }
    boolean isBytesList = column.getDataType() == DataType.BYTES && !column.isSingleValueField();
    return isBytesList ? DataType.STRING : column.getDataType();
  }

  /** Returns the columns that are stored in another form. */
  public List<String> late() {
    return _late;
  }

  /** Adds all rows of a reader. */
  public void add(RecordReader reader)
      throws Exception {
    GenericRow reuse = new GenericRow();
    while (reader.hasNext()) {
      reuse.clear();
      for (GenericRow row : transformed(reader.next(reuse))) {
        for (String column : _late) {
          row.putValue(column, stored(row.getValue(column)));
        }
        _manager.getFileWriter().write(row);
        _rows++;
      }
    }
  }

  private List<GenericRow> transformed(GenericRow row)
      throws Exception {
    try {
      if (_newResult == null) {
        return ((TransformPipeline.Result) _process.invoke(_pipeline, row)).getTransformedRows();
      }
      Object result = _newResult.newInstance();
      _process.invoke(_pipeline, row, result);
      return ((TransformPipeline.Result) result).getTransformedRows();
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
    }
  }

  private static Object stored(Object value) {
    if (value instanceof BigDecimal) {
      return BigDecimalUtils.serialize((BigDecimal) value);
    }
    Object[] values = (Object[]) value;
    Object[] texts = new Object[values.length];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = BytesUtils.toHexString((byte[]) values[i]);
    }
    return texts;
  }

  /** Returns the number of rows so far. */
  public long rows() {
    return _rows;
  }

  /** Ends the file. */
  public void end()
      throws IOException {
    _manager.closeFileWriter();
  }

  /** Returns a reader of some of the rows, after the end. */
  public RecordReader reader(int begin, int end)
      throws IOException {
    return _manager.getFileReader().getRecordReader().getRecordReaderForRange(begin, end);
  }

  /** Deletes the file. */
  @Override
  public void close()
      throws IOException {
    _manager.cleanUp();
  }
}
