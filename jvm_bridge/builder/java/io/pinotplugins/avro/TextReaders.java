package io.pinotplugins.avro;

import io.pinotplugins.arrays.Texts;
import io.pinotplugins.rows.JsonText;
import java.io.EOFException;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/** Reads texts and byte strings, which Avro writes in the same way, and what becomes a text. */
final class TextReaders {
  /** Memory is allocated in steps of this size, as a declared length may be wrong. */
  static final int TRUSTED_BYTES = 1 << 20;

  private TextReaders() {
  }

  /** Returns the reader of values of a type, the kind of which is that of {@link ColumnType}. */
  static ColumnReader.Reader of(String kind, Schema type, Texts texts, Items items) {
    switch (kind) {
      case "STRING":
        return decoder -> read(decoder, length(decoder), texts);
      case "BYTES":
        int size = type.getType() == Schema.Type.FIXED ? type.getFixedSize() : -1;
        return decoder -> read(decoder, size < 0 ? length(decoder) : size, texts);
      case "ENUM":
        return ofSymbols(type.getEnumSymbols(), texts);
      default:
        // Decimal numbers with all their digits, and other values as JSON.
        return decoder -> {
          Object value = AnyValue.read(type, decoder, items);
          return add(value instanceof BigDecimal ? JsonText.digits((BigDecimal) value) : JsonText.written(value), texts);
        };
    }
  }

  private static ColumnReader.Reader ofSymbols(List<String> symbols, Texts texts) {
    byte[][] bytes = new byte[symbols.size()][];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = symbols.get(i).getBytes(StandardCharsets.UTF_8);
    }
    return decoder -> {
      int number = decoder.readEnum();
      if (number < 0 || number >= bytes.length) {
        throw new IOException("an enum with " + bytes.length + " symbols has a value with index " + number);
      }
      texts.add(bytes[number], 0, bytes[number].length);
      return Integer.BYTES + (long) bytes[number].length;
    };
  }

  private static long read(BinaryDecoder decoder, int length, Texts texts)
      throws IOException {
    for (int left = length; left > 0; ) {
      int part = Math.min(left, TRUSTED_BYTES);
      int begin = texts.extend(part);
      decoder.readFixed(texts.bytes(), begin, part);
      left -= part;
    }
    texts.end();
    return Integer.BYTES + (long) length;
  }

  private static long add(String text, Texts texts) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    texts.add(bytes, 0, bytes.length);
    return Integer.BYTES + (long) bytes.length;
  }

  /** Returns the number of bytes of the next text. */
  static int length(BinaryDecoder decoder)
      throws IOException {
    int length = decoder.readInt();
    if (length < 0) {
      throw new EOFException("a text has " + length + " bytes");
    }
    return length;
  }
}
