package io.pinotplugins.rows;

import java.sql.Timestamp;
import java.time.DateTimeException;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Converts the text of a point in time to milliseconds, and back: digits are milliseconds, and dates without an offset
 * are in the table's time zone. Pinot takes them in the time zone of its process, and rolls over dates that do not
 * exist.
 */
public final class TimestampText {
  private static final Pattern NUMBER = Pattern.compile("[+-]?[0-9]{1,19}");
  private static final Pattern DATE = Pattern.compile("([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
      + "(?:[ T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\\.([0-9]{1,9}))?)?)? ?(Z|[+-][0-9]{2}:?[0-9]{2})?");

  private static final DateTimeFormatter TEXT = new DateTimeFormatterBuilder().appendPattern("uuuu-MM-dd HH:mm:ss")
      .appendFraction(ChronoField.NANO_OF_SECOND, 1, 9, true).toFormatter();

  private final ZoneId _zone;

  /** @param zone the table's time zone, e.g. Europe/Berlin */
  public TimestampText(String zone) {
    _zone = ZoneId.of(zone);
  }

  /** Returns milliseconds since 1970; a finer text is cut off towards the past. */
  public long millis(String text) {
    String trimmed = text.trim();
    try {
      if (NUMBER.matcher(trimmed).matches()) {
        return Long.parseLong(trimmed);
      }
      Matcher date = DATE.matcher(trimmed);
      if (date.matches()) {
        LocalDateTime local = LocalDateTime.of(number(date, 1), number(date, 2), number(date, 3), number(date, 4),
            number(date, 5), number(date, 6), nanos(date.group(7)));
        ZoneOffset offset = date.group(8) == null ? offset(text, local) : ZoneOffset.of(date.group(8));
        return local.toInstant(offset).toEpochMilli();
      }
    } catch (DateTimeException | NumberFormatException e) {
      // The text looks like a date, but is none.
    }
    throw new UnfitException(text, "it is not a point in time");
  }

  /** Returns the text of a point in time as Pinot writes it, but in the table's time zone. */
  public String text(Timestamp time) {
    return LocalDateTime.ofInstant(time.toInstant(), _zone).format(TEXT);
  }

  private ZoneOffset offset(String text, LocalDateTime local) {
    // Where clocks are put back, the first of both times counts.
    List<ZoneOffset> offsets = _zone.getRules().getValidOffsets(local);
    if (offsets.isEmpty()) {
      throw new UnfitException(text, "there is no such time in " + _zone + ", where clocks were put forward then");
    }
    return offsets.get(0);
  }

  private static int number(Matcher date, int group) {
    return date.group(group) == null ? 0 : Integer.parseInt(date.group(group));
  }

  private static int nanos(String fraction) {
    return fraction == null ? 0 : Integer.parseInt((fraction + "00000000").substring(0, 9));
  }
}
