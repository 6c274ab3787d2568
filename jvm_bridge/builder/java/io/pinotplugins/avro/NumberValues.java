package io.pinotplugins.avro;

import java.io.IOException;
import java.lang.reflect.Array;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/** Values with a fixed width, in an array of a primitive type. */
abstract class NumberValues<A> extends Values {
  A _numbers;

  NumberValues(Schema schema) {
    super(schema);
  }

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
  static final class Booleans extends NumberValues<byte[]> {
    Booleans(Schema schema) {
      super(schema);
    }

    @Override
    byte[] array(int capacity) {
      return new byte[bytesOfBits(capacity)];
    }

    @Override
    long add(BinaryDecoder decoder, int index)
        throws IOException {
      if (decoder.readBoolean()) {
        setBit(_numbers, index);
      }
      return 1;
    }
  }

  static final class Ints extends NumberValues<int[]> {
    Ints(Schema schema) {
      super(schema);
    }

    @Override
    int[] array(int capacity) {
      return new int[capacity];
    }

    @Override
    long add(BinaryDecoder decoder, int index)
        throws IOException {
      _numbers[index] = decoder.readInt();
      return Integer.BYTES;
    }
  }

  static final class Longs extends NumberValues<long[]> {
    Longs(Schema schema) {
      super(schema);
    }

    @Override
    long[] array(int capacity) {
      return new long[capacity];
    }

    @Override
    long add(BinaryDecoder decoder, int index)
        throws IOException {
      _numbers[index] = decoder.readLong();
      return Long.BYTES;
    }
  }

  static final class Floats extends NumberValues<float[]> {
    Floats(Schema schema) {
      super(schema);
    }

    @Override
    float[] array(int capacity) {
      return new float[capacity];
    }

    @Override
    long add(BinaryDecoder decoder, int index)
        throws IOException {
      _numbers[index] = decoder.readFloat();
      return Float.BYTES;
    }
  }

  static final class Doubles extends NumberValues<double[]> {
    Doubles(Schema schema) {
      super(schema);
    }

    @Override
    double[] array(int capacity) {
      return new double[capacity];
    }

    @Override
    long add(BinaryDecoder decoder, int index)
        throws IOException {
      _numbers[index] = decoder.readDouble();
      return Double.BYTES;
    }
  }
}
