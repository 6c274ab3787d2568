package io.pinotplugins.arrays;

import java.util.Arrays;

/** Texts or byte strings. */
public final class Texts extends VariableValues {
  private static final int MIN_BYTES = 1 << 14;

  private byte[] _bytes;
  private int _size;

  @Override
  public Object[] buffers() {
    return new Object[]{offsets(), _bytes};
  }

  @Override
  int size() {
    return _size;
  }

  @Override
  void allocate(int capacity) {
    super.allocate(capacity);
    _bytes = new byte[Math.max(MIN_BYTES, _size)];
    _size = 0;
  }

  /** Adds a text. */
  public void add(byte[] from, int begin, int length) {
    int to = extend(length);
    System.arraycopy(from, begin, _bytes, to, length);
    end();
  }

  /**
   * Makes the next text longer, which the caller writes into {@link #bytes} and completes with {@link #end}.
   *
   * @return where the new part begins
   */
  public int extend(int length) {
    if (length > _bytes.length - _size) {
      _bytes = Arrays.copyOf(_bytes, larger(_size, length));
    }
    int begin = _size;
    _size += length;
    return begin;
  }

  /** Returns the texts so far; another array after the next one is extended. */
  public byte[] bytes() {
    return _bytes;
  }
}
