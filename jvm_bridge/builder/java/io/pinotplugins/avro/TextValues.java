package io.pinotplugins.avro;

import io.pinotplugins.rows.JsonText;
import java.io.EOFException;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/** Texts and byte strings, which Avro writes in the same way: concatenated, with their offsets. */
class TextValues extends VariableValues {
  /** Memory is allocated in steps of this size, as a declared length may be wrong. */
  static final int TRUSTED_BYTES = 1 << 20;

  private byte[] _bytes;
  private int _size;

  TextValues(Schema schema) {
    super(schema);
  }

  @Override
  public Object[] buffers() {
    return new Object[]{offsets(), _bytes};
  }

  @Override
  int size() {
    return _size;
  }

  @Override
  void allocate(int capacity) {
    super.allocate(capacity);
    _bytes = new byte[Math.max(TRUSTED_BYTES >> 6, _size)];
    _size = 0;
  }

  @Override
  long add(BinaryDecoder decoder, int index)
      throws IOException {
    int length = nextLength(decoder);
    for (int left = length; left > 0; ) {
      int part = Math.min(left, TRUSTED_BYTES);
      makeRoom(part);
      decoder.readFixed(_bytes, _size, part);
      _size += part;
      left -= part;
    }
    end(index);
    return Integer.BYTES + (long) length;
  }

  /** Returns the number of bytes of the next value. */
  int nextLength(BinaryDecoder decoder)
      throws IOException {
    return length(decoder);
  }

  static int length(BinaryDecoder decoder)
      throws IOException {
    int length = decoder.readInt();
    if (length < 0) {
      throw new EOFException("a text has " + length + " bytes");
    }
    return length;
  }

  private void makeRoom(int more) {
    if (more > _bytes.length - _size) {
      _bytes = Arrays.copyOf(_bytes, larger(_size, more));
    }
  }

  final long addBytes(byte[] bytes, int index) {
    makeRoom(bytes.length);
    System.arraycopy(bytes, 0, _bytes, _size, bytes.length);
    _size += bytes.length;
    end(index);
    return Integer.BYTES + (long) bytes.length;
  }

  /** The symbols of an enum. */
  static final class Symbols extends TextValues {
    private final byte[][] _symbols;

    Symbols(Schema schema, Schema type) {
      super(schema);
      List<String> symbols = type.getEnumSymbols();
      _symbols = new byte[symbols.size()][];
      for (int i = 0; i < _symbols.length; i++) {
        _symbols[i] = symbols.get(i).getBytes(StandardCharsets.UTF_8);
      }
    }

    @Override
    long add(BinaryDecoder decoder, int index)
        throws IOException {
      int number = decoder.readEnum();
      if (number < 0 || number >= _symbols.length) {
        throw new IOException("an enum with " + _symbols.length + " symbols has a value with index " + number);
      }
      return addBytes(_symbols[number], index);
    }
  }

  /** Bytes of a fixed length. */
  static final class Fixed extends TextValues {
    private final int _length;

    Fixed(Schema schema, Schema type) {
      super(schema);
      _length = type.getFixedSize();
    }

    @Override
    int nextLength(BinaryDecoder decoder) {
      return _length;
    }
  }

  /** Decimal numbers with all their digits, and other values as JSON. */
  static final class Meanings extends TextValues {
    private final Schema _type;
    private final Items _items;

    Meanings(Schema schema, Schema type, Items items) {
      // A union of several types is read as a whole, with its nulls.
      super(type.getType() == Schema.Type.UNION ? Schema.create(Schema.Type.NULL) : schema);
      _type = type;
      _items = items;
    }

    @Override
    long add(BinaryDecoder decoder, int index)
        throws IOException {
      Object value = AnyValue.read(_type, decoder, _items);
      String text = value instanceof BigDecimal ? JsonText.digits((BigDecimal) value) : JsonText.written(value);
      return addBytes(text.getBytes(StandardCharsets.UTF_8), index);
    }
  }
}
