package io.pinotplugins.expressions;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.IntFunction;

/** A column of values, as Pinot's reader would put them into rows. */
public final class Argument {
  private final IntFunction<Object> _values;
  private final IntFunction<Object> _others;
  private final boolean[] _nulls;

  private Argument(IntFunction<Object> values, IntFunction<Object> others, boolean[] nulls) {
    _values = values;
    _others = others;
    _nulls = nulls;
  }

  private static Argument of(IntFunction<Object> values, boolean[] nulls) {
    return new Argument(values, row -> null, nulls);
  }

  /** Integers; here and below, the array nulls is null if there are no nulls. */
  public static Argument ofInts(int[] values, boolean[] nulls) {
    return of(row -> values[row], nulls);
  }

  /** Longs. */
  public static Argument ofLongs(long[] values, boolean[] nulls) {
    return of(row -> values[row], nulls);
  }

  /** Integers if they fit, else Longs. */
  public static Argument ofWholeNumbers(long[] values, boolean[] nulls) {
    return of(row -> whole(values[row]), nulls);
  }

  /** Floats. */
  public static Argument ofFloats(float[] values, boolean[] nulls) {
    return of(row -> values[row], nulls);
  }

  /** Doubles. */
  public static Argument ofDoubles(double[] values, boolean[] nulls) {
    return of(row -> values[row], nulls);
  }

  /** Doubles; those without a fraction may also be whole numbers. */
  public static Argument ofNumbers(double[] values, boolean[] nulls) {
    return new Argument(row -> values[row],
        row -> values[row] == Math.rint(values[row]) ? whole((long) values[row]) : null, nulls);
  }

  /** Strings in UTF-8; ends has the end offset of each. */
  public static Argument ofTexts(byte[] text, int[] ends, boolean[] nulls) {
    return of(row -> new String(text, begin(ends, row), ends[row] - begin(ends, row), StandardCharsets.UTF_8), nulls);
  }

  /** Byte arrays, likewise. */
  public static Argument ofBytes(byte[] bytes, int[] ends, boolean[] nulls) {
    return of(row -> Arrays.copyOfRange(bytes, begin(ends, row), ends[row]), nulls);
  }

  private static Object whole(long value) {
    if (value == (int) value) {
      return (int) value;
    }
    return value;
  }

  private static int begin(int[] ends, int row) {
    return row == 0 ? 0 : ends[row - 1];
  }

  /** Returns a row's value. */
  Object get(int row) {
    return _nulls != null && _nulls[row] ? null : _values.apply(row);
  }

  /** Returns the other possible value of a row, or null if there is none. */
  Object other(int row) {
    return _nulls != null && _nulls[row] ? null : _others.apply(row);
  }
}
