package io.pinotplugins.rows;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.pinot.spi.data.FieldSpec;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.data.readers.RecordReader;
import org.apache.pinot.spi.data.readers.RecordReaderConfig;

/** Adds the columns that are in the names of a file's folders to its rows; a row that says otherwise is an error. */
public final class FolderRows implements RecordReader {
  private final RecordReader _file;
  private final Map<String, String> _texts;
  private final Map<String, ExactColumn> _columns = new HashMap<>();

  /**
   * @param file the rows of the file
   * @param texts the columns of folders; null is a value
   * @param columns the table's columns
   * @param zone time zone of texts in columns of type TIMESTAMP
   */
  public FolderRows(RecordReader file, Map<String, String> texts, Collection<FieldSpec> columns, String zone) {
    _file = file;
    _texts = texts;
    TimestampText timestamps = new TimestampText(zone);
    for (FieldSpec column : columns) {
      if (texts.containsKey(column.getName())) {
        _columns.put(column.getName(), new ExactColumn(column, false, timestamps));
      }
    }
  }

  @Override
  public GenericRow next(GenericRow row)
      throws IOException {
    GenericRow read = _file.next(row);
    for (Map.Entry<String, String> column : _texts.entrySet()) {
      Object value = read.getValue(column.getKey());
      if (value == null) {
        read.putValue(column.getKey(), column.getValue());
      } else if (!isSame(column.getKey(), value, column.getValue())) {
        UnfitException other = new UnfitException(value,
            "the name of its folder has " + (column.getValue() == null ? "null" : "'" + column.getValue() + "'"));
        other.column = column.getKey();
        throw other;
      }
    }
    return read;
  }

  private boolean isSame(String name, Object value, String text) {
    if (text == null) {
      return false;
    }
    ExactColumn column = _columns.get(name);
    if (column == null) {
      return text.equals(String.valueOf(value));
    }
    return Arrays.deepEquals(new Object[]{column.exact(value)}, new Object[]{column.exact(text)});
  }

  @Override
  public GenericRow next()
      throws IOException {
    return next(new GenericRow());
  }

  @Override
  public boolean hasNext() {
    return _file.hasNext();
  }

  @Override
  public void rewind()
      throws IOException {
    _file.rewind();
  }

  @Override
  public void init(File file, Set<String> fields, RecordReaderConfig config) {
  }

  @Override
  public void close()
      throws IOException {
    _file.close();
  }
}
