package io.pinotplugins.rows;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.function.IntFunction;

/** A column of values, as readers put them into rows. */
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

  /** Booleans. */
  public static Argument ofBooleans(boolean[] values, boolean[] nulls) {
    return of(row -> values[row], nulls);
  }

  /** Days since 1970. */
  public static Argument ofDates(int[] days, boolean[] nulls) {
    return of(row -> LocalDate.ofEpochDay(days[row]), nulls);
  }

  /** Nanoseconds since midnight. */
  public static Argument ofTimesOfDay(long[] nanos, boolean[] nulls) {
    return of(row -> LocalTime.ofNanoOfDay(nanos[row]), nulls);
  }

  /** Points in time; perSecond is how many of their units a second has. */
  public static Argument ofTimestamps(long[] values, long perSecond, boolean[] nulls) {
    return of(row -> {
      long nanos = Math.floorMod(values[row], perSecond) * (1_000_000_000 / perSecond);
      return Timestamp.from(Instant.ofEpochSecond(Math.floorDiv(values[row], perSecond), nanos));
    }, nulls);
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
    return of(row -> text(text, ends, row), nulls);
  }

  /** Byte arrays, likewise. */
  public static Argument ofBytes(byte[] bytes, int[] ends, boolean[] nulls) {
    return of(row -> Arrays.copyOfRange(bytes, begin(ends, row), ends[row]), nulls);
  }

  /** Decimal numbers, given as texts. */
  public static Argument ofDecimals(byte[] text, int[] ends, boolean[] nulls) {
    return of(row -> new BigDecimal(text(text, ends, row)), nulls);
  }

  /** Lists, maps and other values, given as JSON. */
  public static Argument ofNested(byte[] json, int[] ends, boolean[] nulls) {
    return of(row -> JsonValues.of(text(json, ends, row)), nulls);
  }

  /** Lists of the items; ends has the index after the last item of each. */
  public static Argument ofLists(Argument items, int[] ends, boolean[] nulls) {
    return of(row -> {
      Object[] list = new Object[ends[row] - begin(ends, row)];
      for (int i = 0; i < list.length; i++) {
        list[i] = items.get(begin(ends, row) + i);
      }
      return list;
    }, nulls);
  }

  private static String text(byte[] text, int[] ends, int row) {
    return new String(text, begin(ends, row), ends[row] - begin(ends, row), StandardCharsets.UTF_8);
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
  public Object get(int row) {
    return _nulls != null && _nulls[row] ? null : _values.apply(row);
  }

  /** Returns the other possible value of a row, or null if there is none. */
  public Object other(int row) {
    return _nulls != null && _nulls[row] ? null : _others.apply(row);
  }
}
