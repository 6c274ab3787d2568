package io.pinotplugins.rows;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.pinot.spi.data.readers.BaseRecordExtractor;

/**
 * Values of JSON, as Pinot's readers give them, but with empty lists and objects, nulls and all digits: an Integer, Long
 * or BigInteger (since 1.6 a BigDecimal) for a whole number, a Double for a fraction with few digits, and otherwise a
 * BigDecimal.
 */
final class JsonValues {
  static final JsonFactory FACTORY = new JsonFactory();
  /** Any number with at most this many characters is the shortest text of a double. */
  private static final int EXACT_CHARACTERS = 16;

  /** Whether functions get a boolean as such, as from Pinot's readers since 1.6; before, they get a text. */
  static final boolean KEEPS_TYPES = keepsTypes();

  private JsonValues() {
  }

  private static boolean keepsTypes() {
    for (Method method : BaseRecordExtractor.class.getMethods()) {
      if (method.getName().equals("stringifyMapKey")) {
        return true;
      }
    }
    return false;
  }

  static Object of(String json) {
    try (JsonParser parser = FACTORY.createParser(json)) {
      parser.nextToken();
      return current(parser);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the value that begins with the parser's current token; afterwards its last token is the current one. */
  static Object current(JsonParser parser)
      throws IOException {
    switch (parser.currentToken()) {
      case START_OBJECT:
        Map<String, Object> map = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
          String key = parser.getCurrentName();
          parser.nextToken();
          if (map.containsKey(key)) {
            throw twice(parser, key);
          }
          map.put(key, current(parser));
        }
        return map;
      case START_ARRAY:
        List<Object> list = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          list.add(current(parser));
        }
        return list.toArray();
      case VALUE_NUMBER_INT:
        return whole(parser);
      case VALUE_NUMBER_FLOAT:
        return fraction(parser.getText());
      case VALUE_TRUE:
        return true;
      case VALUE_FALSE:
        return false;
      case VALUE_NULL:
        return null;
      default:
        return parser.getText();
    }
  }

  /** Returns the error for a key that an object has twice: one of the values would be lost. */
  static JsonParseException twice(JsonParser parser, String key) {
    return new JsonParseException(parser, "an object has the key " + key + " twice");
  }

  private static Object whole(JsonParser parser)
      throws IOException {
    switch (parser.getNumberType()) {
      case INT:
        return parser.getIntValue();
      case LONG:
        return parser.getLongValue();
      default:
        return KEEPS_TYPES ? parser.getDecimalValue() : (Object) parser.getBigIntegerValue();
    }
  }

  private static Object fraction(String text) {
    double number = Double.parseDouble(text);
    if (text.length() <= EXACT_CHARACTERS && text.indexOf('e') < 0 && text.indexOf('E') < 0) {
      return number;
    }
    BigDecimal exact = new BigDecimal(text);
    boolean isExact = Double.isFinite(number) && exact.compareTo(new BigDecimal(Double.toString(number))) == 0;
    return isExact ? (Object) number : exact;
  }
}
