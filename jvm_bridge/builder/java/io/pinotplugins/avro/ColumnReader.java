package io.pinotplugins.avro;

import io.pinotplugins.arrays.Lists;
import io.pinotplugins.arrays.Numbers;
import io.pinotplugins.arrays.Texts;
import io.pinotplugins.arrays.Values;
import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/** Reads the values of a column, which may be a union with null. */
final class ColumnReader {
  /** Adds the next value, which is not null; returns its approximate size in bytes. */
  interface Reader {
    long read(BinaryDecoder decoder)
        throws IOException;
  }

  private static final int NULL_BYTES = 8;

  /** The values, refilled for each batch. */
  final Values values;
  private final Reader _reader;
  private final int _branches;
  private final int _nullBranch;

  private ColumnReader(Schema schema, Values values, Reader reader) {
    this.values = values;
    _reader = reader;
    boolean isUnion = schema.getType() == Schema.Type.UNION;
    _branches = isUnion ? schema.getTypes().size() : 0;
    int nullBranch = -1;
    for (int i = 0; i < _branches; i++) {
      if (schema.getTypes().get(i).getType() == Schema.Type.NULL) {
        nullBranch = i;
      }
    }
    _nullBranch = nullBranch;
  }

  /** Returns the reader of a column; its items count for the file. */
  static ColumnReader of(Schema schema, Items items) {
    Schema type = ColumnType.withoutNull(schema);
    ColumnType column = new ColumnType(schema);
    if (column.isArray) {
      return ofLists(schema, of(type.getElementType(), items), items);
    }
    switch (column.type) {
      case "BOOLEAN":
        Numbers.Booleans booleans = new Numbers.Booleans();
        return new ColumnReader(schema, booleans, decoder -> {
          booleans.add(decoder.readBoolean());
          return 1;
        });
      case "INT":
        Numbers.Ints ints = new Numbers.Ints();
        return new ColumnReader(schema, ints, decoder -> {
          ints.add(decoder.readInt());
          return Integer.BYTES;
        });
      case "LONG":
        Numbers.Longs longs = new Numbers.Longs();
        return new ColumnReader(schema, longs, decoder -> {
          longs.add(decoder.readLong());
          return Long.BYTES;
        });
      case "FLOAT":
        Numbers.Floats floats = new Numbers.Floats();
        return new ColumnReader(schema, floats, decoder -> {
          floats.add(decoder.readFloat());
          return Float.BYTES;
        });
      case "DOUBLE":
        Numbers.Doubles doubles = new Numbers.Doubles();
        return new ColumnReader(schema, doubles, decoder -> {
          doubles.add(decoder.readDouble());
          return Double.BYTES;
        });
      default:
        Texts texts = new Texts();
        // A union of several types is read as a whole, with its nulls.
        boolean isWhole = type.getType() == Schema.Type.UNION;
        return new ColumnReader(isWhole ? Schema.create(Schema.Type.NULL) : schema, texts,
            TextReaders.of(column.type, type, texts, items));
    }
  }

  private static ColumnReader ofLists(Schema schema, ColumnReader itemReader, Items items) {
    Lists lists = new Lists(itemReader.values);
    return new ColumnReader(schema, lists, decoder -> {
      long bytes = Integer.BYTES;
      for (long count = decoder.readArrayStart(); count > 0; count = decoder.arrayNext()) {
        items.add(count);
        for (long i = 0; i < count; i++) {
          bytes += itemReader.read(decoder);
        }
      }
      lists.end();
      return bytes;
    });
  }

  /** Adds the next value; returns its approximate size in bytes. */
  long read(BinaryDecoder decoder)
      throws IOException {
    if (_branches > 0) {
      int branch = decoder.readIndex();
      if (branch == _nullBranch) {
        values.addNull();
        return NULL_BYTES;
      }
      if (branch < 0 || branch >= _branches) {
        throw new IOException("a union with " + _branches + " types has a value with index " + branch);
      }
    }
    return _reader.read(decoder);
  }
}
