package io.pinotplugins.avro;

import java.io.IOException;
import java.util.Arrays;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/** Values of a fixed width. */
final class NumberValues {
  private NumberValues() {
  }

  /** A bit a value. */
  static final class Booleans extends Values {
    private byte[] _bits;

    Booleans(Schema schema) {
      super(schema);
    }

    @Override
    public Object[] buffers() {
      return new Object[]{_bits};
    }

    @Override
    void allocate(int capacity) {
      _bits = new byte[bytesOfBits(capacity)];
    }

    @Override
    void grow(int capacity) {
      _bits = Arrays.copyOf(_bits, bytesOfBits(capacity));
    }

    @Override
    long add(BinaryDecoder decoder, int place)
        throws IOException {
      if (decoder.readBoolean()) {
        setBit(_bits, place);
      }
      return 1;
    }
  }

  static final class Ints extends Values {
    private int[] _numbers;

    Ints(Schema schema) {
      super(schema);
    }

    @Override
    public Object[] buffers() {
      return new Object[]{_numbers};
    }

    @Override
    void allocate(int capacity) {
      _numbers = new int[capacity];
    }

    @Override
    void grow(int capacity) {
      _numbers = Arrays.copyOf(_numbers, capacity);
    }

    @Override
    long add(BinaryDecoder decoder, int place)
        throws IOException {
      _numbers[place] = decoder.readInt();
      return Integer.BYTES;
    }
  }

  static final class Longs extends Values {
    private long[] _numbers;

    Longs(Schema schema) {
      super(schema);
    }

    @Override
    public Object[] buffers() {
      return new Object[]{_numbers};
    }

    @Override
    void allocate(int capacity) {
      _numbers = new long[capacity];
    }

    @Override
    void grow(int capacity) {
      _numbers = Arrays.copyOf(_numbers, capacity);
    }

    @Override
    long add(BinaryDecoder decoder, int place)
        throws IOException {
      _numbers[place] = decoder.readLong();
      return Long.BYTES;
    }
  }

  static final class Floats extends Values {
    private float[] _numbers;

    Floats(Schema schema) {
      super(schema);
    }

    @Override
    public Object[] buffers() {
      return new Object[]{_numbers};
    }

    @Override
    void allocate(int capacity) {
      _numbers = new float[capacity];
    }

    @Override
    void grow(int capacity) {
      _numbers = Arrays.copyOf(_numbers, capacity);
    }

    @Override
    long add(BinaryDecoder decoder, int place)
        throws IOException {
      _numbers[place] = decoder.readFloat();
      return Float.BYTES;
    }
  }

  static final class Doubles extends Values {
    private double[] _numbers;

    Doubles(Schema schema) {
      super(schema);
    }

    @Override
    public Object[] buffers() {
      return new Object[]{_numbers};
    }

    @Override
    void allocate(int capacity) {
      _numbers = new double[capacity];
    }

    @Override
    void grow(int capacity) {
      _numbers = Arrays.copyOf(_numbers, capacity);
    }

    @Override
    long add(BinaryDecoder decoder, int place)
        throws IOException {
      _numbers[place] = decoder.readDouble();
      return Double.BYTES;
    }
  }
}
