package io.pinotplugins.expressions;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A computed column: values of one type, and the number of values of each row, which may be zero. */
public final class Result {
  private final boolean _isFraction;
  private final boolean _isText;
  private final CharsetEncoder _encoder = StandardCharsets.UTF_8.newEncoder();
  private int[] _lengths;
  private int _rows;
  private int _values;
  private long[] _numbers = new long[0];
  private double[] _fractions = new double[0];
  private byte[] _text = new byte[0];
  private int[] _ends = new int[0];
  private int _size;

  Result(String storedType) {
    _isFraction = storedType.equals("FLOAT") || storedType.equals("DOUBLE");
    _isText = !_isFraction && !storedType.equals("INT") && !storedType.equals("LONG");
  }

  void begin(int rows) {
    _lengths = new int[rows];
    _rows = 0;
    _values = 0;
    _size = 0;
  }

  /** Adds a row's value, or its values. */
  void add(Object value)
      throws CharacterCodingException {
    if (value instanceof Object[]) {
      for (Object each : (Object[]) value) {
        put(each);
      }
      _lengths[_rows] = ((Object[]) value).length;
    } else if (value != null) {
      put(value);
      _lengths[_rows] = 1;
    }
    _rows++;
  }

  private void put(Object value)
      throws CharacterCodingException {
    int at = _values++;
    if (_isFraction) {
      _fractions = at < _fractions.length ? _fractions : Arrays.copyOf(_fractions, larger(at));
      _fractions[at] = ((Number) value).doubleValue();
    } else if (!_isText) {
      _numbers = at < _numbers.length ? _numbers : Arrays.copyOf(_numbers, larger(at));
      _numbers[at] = ((Number) value).longValue();
    } else {
      ByteBuffer bytes = value instanceof byte[] ? ByteBuffer.wrap((byte[]) value)
          // Unlike String.getBytes, this rejects half of a character.
          : _encoder.encode(CharBuffer.wrap(value.toString()));
      int end = Math.addExact(_size, bytes.remaining());
      _text = end <= _text.length ? _text : Arrays.copyOf(_text, larger(end));
      _ends = at < _ends.length ? _ends : Arrays.copyOf(_ends, larger(at));
      bytes.get(_text, _size, bytes.remaining());
      _ends[at] = _size = end;
    }
  }

  private static int larger(int size) {
    return (int) Math.min(Integer.MAX_VALUE - 8, 64 + 2L * size);
  }

  /** Returns the number of values of each row. */
  public int[] lengths() {
    return _lengths;
  }

  /** Returns the values of a type that is stored as INT or LONG. */
  public long[] numbers() {
    return Arrays.copyOf(_numbers, _values);
  }

  /** Returns the values of a type that is stored as FLOAT or DOUBLE. */
  public double[] fractions() {
    return Arrays.copyOf(_fractions, _values);
  }

  /** Returns the bytes of all texts, concatenated. */
  public byte[] text() {
    return Arrays.copyOf(_text, _size);
  }

  /** Returns the end offset of each text. */
  public int[] ends() {
    return Arrays.copyOf(_ends, _values);
  }
}
