package io.pinotplugins.avro;

import io.pinotplugins.arrays.Values;
import java.io.Closeable;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/**
 * An Avro container file, read into columns. Avro's own library reads its header, blocks, codecs and sync markers, as
 * for Pinot's reader; but the values of a block do not become objects. Used by one thread.
 */
public final class AvroFile implements Closeable {
  private static final int GZIP_BUFFER_BYTES = 1 << 16;

  private final DataFileStream<Object> _stream;
  private final List<Schema.Field> _fields;
  /** The reader of each field in the file, or null for a skipped field. */
  private final ColumnReader[] _readers;
  private final Items _items = new Items();
  private BinaryDecoder _decoder;
  private long _rowsInBlock;
  private long _rows;
  /** Avro's library treats an empty block as the end, but would continue if called again. */
  private boolean _isAtEnd;

  public AvroFile(String path, boolean isGzipped)
      throws IOException {
    InputStream bytes = new FileInputStream(path);
    try {
      _stream = new DataFileStream<>(isGzipped ? new GZIPInputStream(bytes, GZIP_BUFFER_BYTES) : bytes,
          new GenericDatumReader<>());
      _fields = _stream.getSchema().getFields();
    } catch (IOException | RuntimeException e) {
      bytes.close();
      throw e;
    }
    _readers = new ColumnReader[_fields.size()];
  }

  /** Returns the names of the fields. */
  public List<String> names() {
    List<String> names = new ArrayList<>();
    for (Schema.Field field : _fields) {
      names.add(field.name());
    }
    return names;
  }

  /** Returns the type of a field. */
  public ColumnType type(String name) {
    return new ColumnType(_stream.getSchema().getField(name).schema());
  }

  /** Returns the values of a field, refilled for each batch; call it before the first batch is read. */
  public Values select(String name) {
    Schema.Field field = _stream.getSchema().getField(name);
    ColumnReader reader = ColumnReader.of(field.schema(), _items);
    _readers[field.pos()] = reader;
    return reader.values;
  }

  /**
   * Reads the next rows into the selected values.
   *
   * @param maxRows maximum number of rows
   * @param maxBytes the batch ends with the row that reaches this size of the selected values
   * @return the number of rows; 0 at the end of the file
   */
  public int next(int maxRows, long maxBytes)
      throws IOException {
    for (ColumnReader reader : _readers) {
      if (reader != null) {
        reader.values.begin();
      }
    }
    int rows = 0;
    long bytes = 0;
    while (rows < maxRows && bytes < maxBytes && hasRow()) {
      bytes += readRow();
      _rowsInBlock--;
      _rows++;
      rows++;
    }
    return rows;
  }

  private long readRow()
      throws IOException {
    long bytes = 0;
    try {
      for (int i = 0; i < _readers.length; i++) {
        if (_readers[i] == null) {
          Skipping.skip(_fields.get(i).schema(), _decoder, _items);
        } else {
          bytes += _readers[i].read(_decoder);
        }
      }
    } catch (StackOverflowError e) {
      // A record within itself may be nested to any depth.
      throw new IOException("a value is nested too deeply");
    }
    return bytes;
  }

  /** Returns the number of rows that were read, also after an exception. */
  public long rows() {
    return _rows;
  }

  private boolean hasRow()
      throws IOException {
    if (_rowsInBlock > 0) {
      return true;
    }
    if (_decoder != null && !_decoder.isEnd()) {
      throw new IOException("a block has more bytes than its rows");
    }
    if (_isAtEnd || !_stream.hasNext()) {
      _isAtEnd = true;
      return false;
    }
    ByteBuffer block = _stream.nextBlock();
    _rowsInBlock = _stream.getBlockCount();
    if (_rowsInBlock < 0) {
      throw new IOException("a block has " + _rowsInBlock + " rows");
    }
    _items.addBytes(block.remaining());
    _decoder = DecoderFactory.get()
        .binaryDecoder(block.array(), block.arrayOffset() + block.position(), block.remaining(), _decoder);
    return true;
  }

  @Override
  public void close()
      throws IOException {
    _stream.close();
  }
}
