package io.pinotplugins.avro;

import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/**
 * Skips values of fields that are not selected. Avro's own skip methods accept lengths and numbers that its read
 * methods, which Pinot uses, reject; a negative length would even make it skip backwards.
 */
final class Skipping {
  private Skipping() {
  }

  static void skip(Schema schema, BinaryDecoder decoder, Items items)
      throws IOException {
    switch (schema.getType()) {
      case NULL:
        return;
      case BOOLEAN:
        decoder.readBoolean();
        return;
      case INT:
        decoder.readInt();
        return;
      case LONG:
        decoder.readLong();
        return;
      case FLOAT:
        decoder.skipFixed(Float.BYTES);
        return;
      case DOUBLE:
        decoder.skipFixed(Double.BYTES);
        return;
      case STRING:
      case BYTES:
        decoder.skipFixed(TextReaders.length(decoder));
        return;
      case FIXED:
        decoder.skipFixed(schema.getFixedSize());
        return;
      case ENUM:
        number(decoder.readEnum(), schema.getEnumSymbols().size());
        return;
      case UNION:
        skip(schema.getTypes().get(number(decoder.readIndex(), schema.getTypes().size())), decoder, items);
        return;
      case ARRAY:
        skipItems(schema.getElementType(), false, decoder.readArrayStart(), decoder, items);
        return;
      case MAP:
        skipItems(schema.getValueType(), true, decoder.readMapStart(), decoder, items);
        return;
      case RECORD:
        for (Schema.Field field : schema.getFields()) {
          skip(field.schema(), decoder, items);
        }
        return;
      default:
        throw new IOException("unsupported field type " + schema.getType());
    }
  }

  private static void skipItems(Schema item, boolean haveKeys, long first, BinaryDecoder decoder, Items items)
      throws IOException {
    for (long count = first; count > 0; count = haveKeys ? decoder.mapNext() : decoder.arrayNext()) {
      items.add(count);
      for (long i = 0; i < count; i++) {
        if (haveKeys) {
          decoder.skipFixed(TextReaders.length(decoder));
        }
        skip(item, decoder, items);
      }
    }
  }

  static int number(int number, int limit)
      throws IOException {
    if (number < 0 || number >= limit) {
      throw new IOException("invalid index " + number + " of an enum or union with " + limit + " values");
    }
    return number;
  }
}
