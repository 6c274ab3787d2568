package io.pinotplugins.avro;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/** Values of any type: what they mean. A record or map is a Map, an array Object[], a time its text in ISO 8601. */
final class AnyValue {
  private static final long MILLIS_OF_DAY = 86_400_000;

  private AnyValue() {
  }

  static Object read(Schema schema, BinaryDecoder decoder, Items items)
      throws IOException {
    switch (schema.getType()) {
      case NULL:
        return null;
      case BOOLEAN:
        return decoder.readBoolean();
      case INT:
        return timeOr(schema, decoder.readInt());
      case LONG:
        return timeOr(schema, decoder.readLong());
      case FLOAT:
        return decoder.readFloat();
      case DOUBLE:
        return decoder.readDouble();
      case STRING:
        return text(decoder);
      case BYTES:
        return decimalOr(schema, bytes(decoder, TextReaders.length(decoder)));
      case FIXED:
        return decimalOr(schema, bytes(decoder, schema.getFixedSize()));
      case ENUM:
        return schema.getEnumSymbols().get(Skipping.number(decoder.readEnum(), schema.getEnumSymbols().size()));
      case UNION:
        return read(schema.getTypes().get(Skipping.number(decoder.readIndex(), schema.getTypes().size())), decoder,
            items);
      case ARRAY:
        List<Object> list = new ArrayList<>();
        for (long count = decoder.readArrayStart(); count > 0; count = decoder.arrayNext()) {
          items.add(count);
          for (long i = 0; i < count; i++) {
            list.add(read(schema.getElementType(), decoder, items));
          }
        }
        return list.toArray();
      case MAP:
        Map<String, Object> map = new LinkedHashMap<>();
        for (long count = decoder.readMapStart(); count > 0; count = decoder.mapNext()) {
          items.add(count);
          for (long i = 0; i < count; i++) {
            map.put(text(decoder), read(schema.getValueType(), decoder, items));
          }
        }
        return map;
      case RECORD:
        Map<String, Object> record = new LinkedHashMap<>();
        for (Schema.Field field : schema.getFields()) {
          record.put(field.name(), read(field.schema(), decoder, items));
        }
        return record;
      default:
        throw new IOException("unsupported type " + schema.getType());
    }
  }

  private static String text(BinaryDecoder decoder)
      throws IOException {
    byte[] bytes = bytes(decoder, TextReaders.length(decoder));
    // Avro's own method would replace what is not UTF-8.
    return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
  }

  private static byte[] bytes(BinaryDecoder decoder, int length)
      throws IOException {
    byte[] bytes = new byte[0];
    for (int size = 0; size < length; ) {
      int part = Math.min(length - size, TextReaders.TRUSTED_BYTES);
      bytes = Arrays.copyOf(bytes, size + part);
      decoder.readFixed(bytes, size, part);
      size += part;
    }
    return bytes;
  }

  private static Object decimalOr(Schema schema, byte[] bytes)
      throws IOException {
    return ColumnType.isDecimal(schema) ? decimal(schema, bytes) : bytes;
  }

  /** Returns the decimal number that bytes stand for. */
  static BigDecimal decimal(Schema schema, byte[] bytes)
      throws IOException {
    if (ColumnType.isBigDecimal(schema)) {
      BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(bytes, null);
      ByteBuffer unscaled = decoder.readBytes(null);
      byte[] digits = new byte[unscaled.remaining()];
      unscaled.get(digits);
      return new BigDecimal(number(digits), decoder.readInt());
    }
    return new BigDecimal(number(bytes), ((LogicalTypes.Decimal) schema.getLogicalType()).getScale());
  }

  private static BigInteger number(byte[] bytes)
      throws IOException {
    if (bytes.length == 0) {
      throw new IOException("a decimal number has no bytes");
    }
    return new BigInteger(bytes);
  }

  private static boolean isOfDay(long number, long end) {
    return number >= 0 && number < end;
  }

  private static Object timeOr(Schema schema, Number value) {
    LogicalType logical = schema.getLogicalType();
    String name = logical == null ? String.valueOf(schema.getProp("logicalType")) : logical.getName();
    long number = value.longValue();
    switch (name) {
      case "date":
        return LocalDate.ofEpochDay(number).toString();
      case "time-millis":
        return isOfDay(number, MILLIS_OF_DAY) ? (Object) LocalTime.ofNanoOfDay(number * 1_000_000).toString() : value;
      case "time-micros":
        return isOfDay(number, 1_000 * MILLIS_OF_DAY) ? (Object) LocalTime.ofNanoOfDay(number * 1_000).toString() : value;
      default:
        break;
    }
    ChronoUnit unit = name.endsWith("timestamp-millis") ? ChronoUnit.MILLIS
        : name.endsWith("timestamp-micros") ? ChronoUnit.MICROS
        : name.endsWith("timestamp-nanos") ? ChronoUnit.NANOS : null;
    if (unit == null) {
      return value;
    }
    Instant instant = Instant.EPOCH.plus(number, unit);
    return name.startsWith("local-") ? LocalDateTime.ofInstant(instant, ZoneOffset.UTC).toString() : instant.toString();
  }
}
