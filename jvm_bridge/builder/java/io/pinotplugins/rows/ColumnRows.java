package io.pinotplugins.rows;

import java.io.File;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.data.readers.RecordReader;
import org.apache.pinot.spi.data.readers.RecordReaderConfig;

/** Reads rows from batches of columns. */
public final class ColumnRows implements RecordReader {
  private final Batches _batches;
  private Batch _batch;
  private int _row;

  /** Some rows. */
  public static final class Batch {
    private final int _rows;
    private final Map<String, Argument> _columns = new LinkedHashMap<>();

    public Batch(int rows) {
      _rows = rows;
    }

    /** Adds a column. */
    public void put(String name, Argument column) {
      _columns.put(name, column);
    }
  }

  /** Batches, read one after the other. */
  public interface Batches {
    /** Starts with the first batch. */
    void open();

    /** Returns the next batch, or null at the end. */
    Batch next();

    void close();
  }

  public ColumnRows(Batches batches) {
    _batches = batches;
    rewind();
  }

  @Override
  public void rewind() {
    _batches.open();
    _batch = new Batch(0);
    _row = 0;
  }

  @Override
  public boolean hasNext() {
    while (_batch != null && _row == _batch._rows) {
      _batch = _batches.next();
      _row = 0;
    }
    return _batch != null;
  }

  @Override
  public GenericRow next(GenericRow row) {
    hasNext();
    row.clear();
    for (Map.Entry<String, Argument> column : _batch._columns.entrySet()) {
      row.putValue(column.getKey(), column.getValue().get(_row));
    }
    _row++;
    return row;
  }

  @Override
  public GenericRow next() {
    return next(new GenericRow());
  }

  @Override
  public void init(File file, Set<String> fields, RecordReaderConfig config) {
  }

  @Override
  public void close() {
    _batches.close();
    _batch = null;
  }
}
