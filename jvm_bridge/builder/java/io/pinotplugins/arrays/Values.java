package io.pinotplugins.arrays;

import java.util.Arrays;

/**
 * Values of one type, possibly null, in arrays with Arrow's layout. Each batch has its own arrays, which the caller
 * may keep.
 */
public abstract class Values {
  private static final int MIN_CAPACITY = 1024;

  /** A bit for each value, set if it is null; null if no value is. */
  private byte[] _nullBits;
  private int _capacity;
  private int _count;
  private int _nulls;

  /** Returns the number of values, including nulls. */
  public final int count() {
    return _count;
  }

  /** Returns the number of nulls. */
  public final int nulls() {
    return _nulls;
  }

  /** Returns a bit for each value, set if it is not null; undefined if there are no nulls. */
  public final byte[] validity() {
    byte[] bits = Arrays.copyOf(_nullBits, bytesOfBits(_count));
    for (int i = 0; i < bits.length; i++) {
      bits[i] = (byte) ~bits[i];
    }
    return bits;
  }

  /** Returns Arrow's buffers after the validity, as arrays that may be longer than their content. */
  public abstract Object[] buffers();

  /** Returns the items of lists, or null for other values. */
  public Values items() {
    return null;
  }

  /** Starts a batch, for which as much memory is allocated as for the last one. */
  public void begin() {
    _capacity = Math.max(MIN_CAPACITY, _count);
    _nullBits = null;
    _count = 0;
    _nulls = 0;
    allocate(_capacity);
  }

  /** Adds a null; its value in the arrays is zero. */
  public final void addNull() {
    int index = next();
    if (_nullBits == null || bytesOfBits(index) > _nullBits.length) {
      byte[] grown = new byte[bytesOfBits(_capacity)];
      if (_nullBits != null) {
        System.arraycopy(_nullBits, 0, grown, 0, _nullBits.length);
      }
      _nullBits = grown;
    }
    setBit(_nullBits, index);
    _nulls++;
    end(index);
  }

  /** Returns the index of the next value, for which the arrays then have room. */
  final int next() {
    if (_count == _capacity) {
      _capacity = larger(_capacity, 1);
      grow(_capacity);
    }
    return _count++;
  }

  /** Ends the value at an index. */
  void end(int index) {
  }

  /** Allocates new arrays for a number of values. */
  abstract void allocate(int capacity);

  /** Grows the arrays. */
  abstract void grow(int capacity);

  static void setBit(byte[] bits, int index) {
    bits[index >> 3] |= (byte) (1 << (index & 7));
  }

  static int bytesOfBits(int bits) {
    return (bits >> 3) + 1;
  }

  /** Returns a larger size, with room for further growth. */
  static int larger(int size, int more) {
    return (int) Math.min(Integer.MAX_VALUE - 8, Math.max(Math.addExact(size, more), size + (long) (size >> 1)));
  }
}
