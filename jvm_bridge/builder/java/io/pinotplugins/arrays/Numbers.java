package io.pinotplugins.arrays;

import java.lang.reflect.Array;

/** Values with a fixed width, in an array of a primitive type. */
public abstract class Numbers<A> extends Values {
  A _numbers;

  /** Creates an array for a number of values. */
  abstract A array(int capacity);

  @Override
  public final Object[] buffers() {
    return new Object[]{_numbers};
  }

  @Override
  final void allocate(int capacity) {
    _numbers = array(capacity);
  }

  @Override
  final void grow(int capacity) {
    A grown = array(capacity);
    System.arraycopy(_numbers, 0, grown, 0, Array.getLength(_numbers));
    _numbers = grown;
  }

  /** One bit per value. */
  public static final class Booleans extends Numbers<byte[]> {
    @Override
    byte[] array(int capacity) {
      return new byte[bytesOfBits(capacity)];
    }

    public void add(boolean value) {
      int index = next();
      if (value) {
        setBit(_numbers, index);
      }
    }
  }

  public static final class Ints extends Numbers<int[]> {
    @Override
    int[] array(int capacity) {
      return new int[capacity];
    }

    public void add(int value) {
      int index = next();
      _numbers[index] = value;
    }
  }

  public static final class Longs extends Numbers<long[]> {
    @Override
    long[] array(int capacity) {
      return new long[capacity];
    }

    public void add(long value) {
      int index = next();
      _numbers[index] = value;
    }
  }

  public static final class Floats extends Numbers<float[]> {
    @Override
    float[] array(int capacity) {
      return new float[capacity];
    }

    public void add(float value) {
      int index = next();
      _numbers[index] = value;
    }
  }

  public static final class Doubles extends Numbers<double[]> {
    @Override
    double[] array(int capacity) {
      return new double[capacity];
    }

    public void add(double value) {
      int index = next();
      _numbers[index] = value;
    }
  }
}
