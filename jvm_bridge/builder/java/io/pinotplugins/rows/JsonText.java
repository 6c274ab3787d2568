package io.pinotplugins.rows;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.util.Map;

/** The JSON of a value, with all digits of its numbers, empty lists and objects, and nulls. */
public final class JsonText {
  private static final JsonFactory FACTORY = new JsonFactory();
  private static final char[] DIGITS = "0123456789abcdef".toCharArray();

  /** A longer text of a number is written with an exponent. */
  private static final int MAX_PLAIN_SCALE = 400;

  private JsonText() {
  }

  /** Returns the JSON of a value; a text that is JSON as a whole is taken as such, without its white space. */
  static String of(Object value) {
    if (!(value instanceof String)) {
      return written(value);
    }
    try (JsonParser parser = FACTORY.createParser((String) value)) {
      String json = parser.nextToken() == null ? null : copied(parser);
      if (json != null && parser.nextToken() == null) {
        return json;
      }
    } catch (JsonParseException e) {
      // It is a text like any other.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return written(value);
  }

  /** Returns the value that begins with the parser's current token, with its numbers as they are written. */
  static String copied(JsonParser parser)
      throws IOException {
    StringWriter text = new StringWriter();
    JsonGenerator generator = FACTORY.createGenerator(text);
    int depth = 0;
    do {
      JsonToken token = depth == 0 ? parser.currentToken() : parser.nextToken();
      if (token.isNumeric()) {
        generator.writeNumber(parser.getText());
      } else {
        generator.copyCurrentEvent(parser);
      }
      depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
    } while (depth > 0);
    generator.flush();
    return text.toString();
  }

  /** Returns the JSON of a value; a text is a string. */
  public static String written(Object value) {
    StringWriter text = new StringWriter();
    try (JsonGenerator generator = FACTORY.createGenerator(text)) {
      write(value, generator);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  private static void write(Object value, JsonGenerator generator)
      throws IOException {
    Object[] list = ExactColumn.list(value);
    if (list != null) {
      generator.writeStartArray();
      for (Object each : list) {
        write(each, generator);
      }
      generator.writeEndArray();
    } else if (value instanceof Map) {
      generator.writeStartObject();
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        generator.writeFieldName(String.valueOf(entry.getKey()));
        write(entry.getValue(), generator);
      }
      generator.writeEndObject();
    } else if (value == null) {
      generator.writeNull();
    } else if (value instanceof Boolean) {
      generator.writeBoolean((Boolean) value);
    } else if (isNumber(value)) {
      generator.writeNumber(value instanceof BigDecimal ? digits((BigDecimal) value) : value.toString());
    } else {
      generator.writeString(value instanceof byte[] ? hexadecimal((byte[]) value) : value.toString());
    }
  }

  /** Returns the text of a decimal number. */
  public static String digits(BigDecimal number) {
    return Math.abs((long) number.scale()) <= MAX_PLAIN_SCALE ? number.toPlainString() : number.toString();
  }

  /** Returns whether a value is a number for JSON, which has no NaN and no infinity. */
  private static boolean isNumber(Object value) {
    boolean isBinary = value instanceof Double || value instanceof Float;
    return value instanceof Number && !(isBinary && !Double.isFinite(((Number) value).doubleValue()));
  }

  private static String hexadecimal(byte[] bytes) {
    char[] text = new char[2 * bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      text[2 * i] = DIGITS[bytes[i] >> 4 & 15];
      text[2 * i + 1] = DIGITS[bytes[i] & 15];
    }
    return new String(text);
  }
}
