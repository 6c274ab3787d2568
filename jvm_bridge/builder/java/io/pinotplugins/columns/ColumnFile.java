package io.pinotplugins.columns;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;

/** The file of columns that Arrow has read, block by block; little-endian. Used by one thread. */
public final class ColumnFile implements Closeable {
  private final FileChannel _channel;
  private ByteBuffer _buffer = buffer(1 << 20);
  private long[] _numbers = new long[0];
  private int[] _ids = new int[0];

  public ColumnFile(String path)
      throws IOException {
    _channel = FileChannel.open(Paths.get(path), StandardOpenOption.READ);
  }

  private static ByteBuffer buffer(int size) {
    return ByteBuffer.allocateDirect(size).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns bytes of the file, valid until the next call. */
  ByteBuffer read(long position, long size)
      throws IOException {
    if (_buffer.capacity() < size) {
      _buffer = buffer(Math.toIntExact(size + (size >> 2)));
    }
    _buffer.clear().limit((int) size);
    while (_buffer.hasRemaining()) {
      if (_channel.read(_buffer, position + _buffer.position()) < 0) {
        throw new EOFException("the file of columns ends at " + (position + _buffer.position()));
      }
    }
    _buffer.flip();
    return _buffer;
  }

  /** Reads ints into an array, or into a larger one. */
  int[] ints(long position, int count, int[] reuse)
      throws IOException {
    int[] values = reuse.length < count ? new int[count] : reuse;
    read(position, 4L * count).asIntBuffer().get(values, 0, count);
    return values;
  }

  /** Returns an array with room for a number of longs, the same for all columns. */
  long[] numbers(int count) {
    if (_numbers.length < count) {
      _numbers = new long[count];
    }
    return _numbers;
  }

  /** Returns an array with room for a number of ids, the same for all columns. */
  int[] ids(int count) {
    if (_ids.length < count) {
      _ids = new int[count];
    }
    return _ids;
  }

  @Override
  public void close()
      throws IOException {
    _channel.close();
  }
}
