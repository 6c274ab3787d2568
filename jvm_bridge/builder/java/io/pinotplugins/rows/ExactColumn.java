package io.pinotplugins.rows;

import com.fasterxml.jackson.databind.util.RawValue;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.sql.Timestamp;
import java.util.Collection;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.pinot.spi.data.FieldSpec;
import org.apache.pinot.spi.data.FieldSpec.DataType;

/** Converts the values of one column; values and types that are not mentioned here are left to Pinot. */
final class ExactColumn {
  private static final double BEYOND_LONG = 0x1p63;
  private static final Pattern HEXADECIMAL = Pattern.compile("[0-9a-fA-F]*+");

  final String name;
  private final DataType _type;
  private final boolean _isSingle;
  /** Whether a function of the table computes the values: of its fractions, whole columns take the whole part. */
  private final boolean _isComputed;
  private final TimestampText _texts;

  ExactColumn(FieldSpec column, boolean isComputed, TimestampText texts) {
    name = column.getName();
    _type = column.getDataType();
    _isSingle = column.isSingleValueField();
    _isComputed = isComputed;
    _texts = texts;
  }

  /** Returns what the column holds for a value of a row. */
  Object exact(Object value) {
    try {
      return _isSingle ? single(value) : many(value);
    } catch (UnfitException e) {
      e.column = name;
      throw e;
    }
  }

  private Object single(Object value) {
    if (_type == DataType.JSON) {
      return new RawValue(storable(JsonText.of(value), value));
    }
    Object[] list = _type == DataType.STRING ? null : list(value);
    if (list == null) {
      return scalar(value);
    }
    if (list.length > 1) {
      throw new UnfitException(value, "a list of " + list.length + " values, but the column has single values");
    }
    return list.length == 0 || list[0] == null ? null : scalar(list[0]);
  }

  private Object many(Object value) {
    Object[] list = list(value);
    if (list == null) {
      return scalar(value);
    }
    Object[] exact = new Object[list.length];
    for (int i = 0; i < list.length; i++) {
      exact[i] = list[i] == null ? null : scalar(list[i]);
    }
    return exact;
  }

  static Object[] list(Object value) {
    if (value instanceof Collection) {
      return ((Collection<?>) value).toArray();
    }
    return value instanceof Object[] ? (Object[]) value : null;
  }

  private Object scalar(Object value) {
    if (value instanceof Timestamp && _type == DataType.STRING && !_isComputed) {
      return _texts.text((Timestamp) value);
    }
    boolean isKnown = value instanceof Number || value instanceof String || value instanceof Boolean
        || value instanceof byte[] || value instanceof Map || list(value) != null;
    if (!isKnown) {
      return value;
    }
    try {
      switch (_type) {
        case INT:
          return Math.toIntExact(whole(value));
        case LONG:
          return whole(value);
        case FLOAT:
        case DOUBLE:
          return fraction(value);
        case BIG_DECIMAL:
          return decimal(value);
        case BOOLEAN:
          return isTrue(value);
        case STRING:
          return text(value);
        case BYTES:
          return bytes(value);
        case TIMESTAMP:
          if (value instanceof String) {
            return _texts.millis((String) value);
          }
          return whole(value);
        default:
          return value;
      }
    } catch (ArithmeticException | NumberFormatException e) {
      throw unfit(value);
    }
  }

  private UnfitException unfit(Object value) {
    return new UnfitException(value, "it does not fit " + _type);
  }

  /** Returns a decimal number, or null if the value is none. */
  private static BigDecimal decimalOrNull(Object value) {
    return value instanceof BigInteger ? new BigDecimal((BigInteger) value)
        : value instanceof BigDecimal ? (BigDecimal) value : null;
  }

  private static boolean isBinary(Object value) {
    return value instanceof Double || value instanceof Float;
  }

  private long whole(Object value) {
    BigDecimal decimal = decimalOrNull(value);
    if (decimal != null) {
      return (_isComputed ? decimal.setScale(0, RoundingMode.DOWN) : decimal).longValueExact();
    }
    if (value instanceof String) {
      return Long.parseLong(((String) value).trim());
    }
    if (!(value instanceof Number)) {
      throw unfit(value);
    }
    if (!isBinary(value)) {
      return ((Number) value).longValue();
    }
    double number = ((Number) value).doubleValue();
    if (_isComputed) {
      number = number < 0 ? Math.ceil(number) : Math.floor(number);
    }
    if (number != Math.rint(number) || number < -BEYOND_LONG || number >= BEYOND_LONG) {
      throw unfit(value);
    }
    return (long) number;
  }

  private Number fraction(Object value) {
    Number number;
    if (value instanceof String) {
      number = parsed(((String) value).trim());
    } else if (value instanceof Number) {
      number = (Number) value;
    } else {
      throw unfit(value);
    }
    Number stored = _type == DataType.FLOAT ? (Number) number.floatValue() : (Number) number.doubleValue();
    if (stored.doubleValue() == 0) { // also negative zero, see special_values.py
      return _type == DataType.FLOAT ? (Number) 0f : (Number) 0d;
    }
    boolean isInfinite = isBinary(number) && Double.isInfinite(number.doubleValue());
    if (Double.isInfinite(stored.doubleValue()) && !isInfinite) {
      throw unfit(value);
    }
    return stored;
  }

  /** Parses a number, but not what only Java takes for one: 1d, 1f, 0x1p3. */
  private Number parsed(String text) {
    boolean isNamed = text.endsWith("NaN") || text.endsWith("Infinity");
    if (!isNamed && (text.isEmpty() || "dDfF".indexOf(text.charAt(text.length() - 1)) >= 0 || text.indexOf('p') >= 0
        || text.indexOf('P') >= 0)) {
      throw unfit(text);
    }
    Number number = _type == DataType.FLOAT ? (Number) Float.parseFloat(text) : (Number) Double.parseDouble(text);
    if (Double.isInfinite(number.doubleValue()) && !isNamed) {
      throw unfit(text);
    }
    return number;
  }

  private BigDecimal decimal(Object value) {
    BigDecimal decimal = decimalOrNull(value);
    if (decimal == null && (value instanceof String || value instanceof Number)) {
      decimal = new BigDecimal(value.toString().trim());
    }
    // Pinot writes the scale as two bytes.
    if (decimal == null || decimal.scale() != (short) decimal.scale()) {
      throw unfit(value);
    }
    return decimal;
  }

  private boolean isTrue(Object value) {
    String text = value instanceof String ? ((String) value).trim() : value instanceof byte[] ? "" : value.toString();
    if (text.equalsIgnoreCase("true") || text.equalsIgnoreCase("false")) {
      return text.equalsIgnoreCase("true");
    }
    if (value instanceof Number || text.equals("0") || text.equals("1")) {
      BigDecimal number = new BigDecimal(text);
      if (number.signum() == 0 || number.compareTo(BigDecimal.ONE) == 0) {
        return number.signum() != 0;
      }
    }
    throw unfit(value);
  }

  private static Object text(Object value) {
    BigDecimal decimal = decimalOrNull(value);
    if (decimal != null) {
      return JsonText.digits(decimal);
    }
    if (value instanceof byte[]) {
      return value;
    }
    return storable(value instanceof Map || list(value) != null ? JsonText.of(value) : value.toString(), value);
  }

  /** Refuses half of a surrogate pair: segments have UTF-8, in which it would become a question mark. */
  private static String storable(String text, Object value) {
    for (int i = 0; i < text.length(); i++) {
      char character = text.charAt(i);
      if (Character.isSurrogate(character)) {
        boolean isPair = i + 1 < text.length() && Character.isSurrogatePair(character, text.charAt(i + 1));
        if (!isPair) {
          throw new UnfitException(value, String.format("\\u%04x is half of a character", (int) character));
        }
        i++;
      }
    }
    return text;
  }

  private Object bytes(Object value) {
    if (value instanceof byte[] || (value instanceof String && isHexadecimal((String) value))) {
      return value;
    }
    throw unfit(value);
  }

  private static boolean isHexadecimal(String text) {
    return text.length() % 2 == 0 && HEXADECIMAL.matcher(text).matches();
  }
}
