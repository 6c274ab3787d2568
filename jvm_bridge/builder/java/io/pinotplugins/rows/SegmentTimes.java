package io.pinotplugins.rows;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.pinot.segment.spi.creator.SegmentGeneratorConfig;
import org.apache.pinot.spi.data.DateTimeFieldSpec;
import org.apache.pinot.spi.data.DateTimeFormatSpec;
import org.apache.pinot.spi.data.FieldSpec.DataType;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.utils.TimeUtils;

/**
 * Checks the time of each row of a segment, as it is stored, and sets the times of the segment if Pinot's driver would
 * take others: it compares dates as texts, and takes steps of several units for single units. Used by one thread.
 */
public final class SegmentTimes implements Consumer<GenericRow> {
  private static final int MAX_KNOWN = 1 << 16;

  private final SegmentGeneratorConfig _config;
  private final String _column;
  private final DateTimeFieldSpec _spec;
  private final DateTimeFormatSpec _format;
  private final boolean _isDate;
  private final TimestampText _texts;
  private final boolean _hasDefault;
  private final boolean _setsTimes;
  /** Dates that have been added; parsing them takes longer than finding them here. */
  private final Set<Object> _known = new HashSet<>();
  private long _start = Long.MAX_VALUE;
  private long _end = Long.MIN_VALUE;
  private String _reason;

  /**
   * @param config the segment's config, of a table with a time column
   * @param zone time zone of texts in a column of type TIMESTAMP
   * @param hasDefault whether the schema has a time for rows without one
   */
  public SegmentTimes(SegmentGeneratorConfig config, String zone, boolean hasDefault) {
    _config = config;
    _column = config.getTimeColumnName();
    _spec = config.getSchema().getSpecForTimeColumn(_column);
    _format = _spec.getFormatSpec();
    _isDate = _format.getTimeFormat() == DateTimeFieldSpec.TimeFormat.SIMPLE_DATE_FORMAT;
    _texts = new TimestampText(zone);
    _hasDefault = hasDefault;
    DataType type = _spec.getDataType().getStoredType();
    _setsTimes = _isDate || _format.getColumnSize() != 1 || (type != DataType.INT && type != DataType.LONG);
  }

  /** Adds the time of a row that has passed all of Pinot's transforms. */
  @Override
  public void accept(GenericRow row) {
    if (Boolean.TRUE.equals(row.getValue(GenericRow.SKIP_RECORD_KEY))) {
      return;
    }
    try {
      if (row.isNullValue(_column) && !_hasDefault) {
        throw none();
      }
      add(row.getValue(_column));
    } catch (UnfitException e) {
      e.column = _column;
      throw e;
    }
  }

  private static UnfitException none() {
    return new UnfitException(null, "the row has no time, for which Pinot would store the time of the build");
  }

  /** Adds times of a column; returns the index of the first that cannot be used, or -1. */
  public int add(long[] values) {
    for (int i = 0; i < values.length; i++) {
      try {
        add((Object) values[i]);
      } catch (UnfitException e) {
        _reason = e.reason;
        return i;
      }
    }
    return -1;
  }

  /** Adds times of a column, in UTF-8; ends has the end offset of each. Returns the same. */
  public int add(byte[] text, int[] ends) {
    for (int i = 0; i < ends.length; i++) {
      int begin = i == 0 ? 0 : ends[i - 1];
      try {
        add(new String(text, begin, ends[i] - begin, StandardCharsets.UTF_8));
      } catch (UnfitException e) {
        _reason = e.reason;
        return i;
      }
    }
    return -1;
  }

  /** Returns why the last of these times cannot be used. */
  public String reason() {
    return _reason;
  }

  /** Returns whether times are dates, which are not in the order of their numbers or texts. */
  public boolean isDate() {
    return _isDate;
  }

  private void add(Object value) {
    if (_known.contains(value)) {
      return;
    }
    long millis = checked(value);
    if (_isDate && _known.size() < MAX_KNOWN) {
      _known.add(value);
    }
    if (millis < _start) {
      _start = millis;
      if (_setsTimes) {
        _config.setSegmentTimeUnit(TimeUnit.MILLISECONDS);
        _config.setStartTime(Long.toString(millis));
      }
    }
    if (millis > _end) {
      _end = millis;
      if (_setsTimes) {
        _config.setEndTime(Long.toString(millis));
      }
    }
  }

  private long checked(Object value) {
    long millis;
    try {
      millis = millis(value);
    } catch (IllegalArgumentException | ArithmeticException e) {
      throw new UnfitException(value, "it is not a time in the format " + _spec.getFormat());
    }
    if (!_config.isSkipTimeValueCheck() && !TimeUtils.timeValueInValidRange(millis)) {
      throw new UnfitException(value, "in the format " + _spec.getFormat() + " it is " + Instant.ofEpochMilli(millis)
          + ", but Pinot only takes times from 1971 to 2070");
    }
    return millis;
  }

  private long millis(Object value) {
    if (_isDate) {
      return _format.fromFormatToMillis(value.toString());
    }
    if (_spec.getDataType() == DataType.TIMESTAMP) {
      return value instanceof String ? _texts.millis((String) value) : (Long) value;
    }
    long steps = Math.multiplyExact(Long.parseLong(value.toString()), (long) _format.getColumnSize());
    long millis = _format.getColumnUnit().toMillis(steps);
    if (millis == Long.MAX_VALUE || millis == Long.MIN_VALUE) {
      throw new ArithmeticException();
    }
    return millis;
  }
}
