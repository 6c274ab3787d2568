package io.pinotplugins.avro;

import java.io.IOException;
import java.util.Arrays;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/**
 * Values of one type, possibly null, in arrays with Arrow's layout. Each batch has its own arrays, which the caller
 * may keep.
 */
public abstract class Values {
  private static final int MIN_CAPACITY = 1024;
  private static final int NULL_BYTES = 8;

  private final int _branches;
  private final int _nullBranch;
  private byte[] _validity;
  private int _capacity;
  private int _count;
  private int _nulls;

  Values(Schema schema) {
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

  /** Returns the values of a column, which may be a union with null; its items count for the file. */
  static Values of(Schema schema, Items items) {
    Schema type = ColumnType.withoutNull(schema);
    ColumnType column = new ColumnType(schema);
    if (column.isArray) {
      return new ListValues(schema, Values.of(type.getElementType(), items), items);
    }
    switch (column.type) {
      case "BOOLEAN":
        return new NumberValues.Booleans(schema);
      case "INT":
        return new NumberValues.Ints(schema);
      case "LONG":
        return new NumberValues.Longs(schema);
      case "FLOAT":
        return new NumberValues.Floats(schema);
      case "DOUBLE":
        return new NumberValues.Doubles(schema);
      case "STRING":
        return new TextValues(schema);
      case "BYTES":
        return type.getType() == Schema.Type.FIXED ? new TextValues.Fixed(schema, type) : new TextValues(schema);
      case "ENUM":
        return new TextValues.Symbols(schema, type);
      default:
        return new TextValues.Meanings(schema, type, items);
    }
  }

  /** Returns the number of values, including nulls. */
  public final int count() {
    return _count;
  }

  /** Returns the number of nulls. */
  public final int nulls() {
    return _nulls;
  }

  /** Returns a bit for each value, set if it is not null; undefined if there are no nulls. */
  public final byte[] validity() {
    return _validity;
  }

  /** Returns Arrow's buffers after the validity, as arrays that may be longer than their content. */
  public abstract Object[] buffers();

  /** Returns the items of lists, or null for other values. */
  public Values items() {
    return null;
  }

  /** Starts a batch, for which as much memory is allocated as for the last one. */
  void begin() {
    _capacity = Math.max(MIN_CAPACITY, _count);
    _validity = new byte[bytesOfBits(_capacity)];
    _count = 0;
    _nulls = 0;
    allocate(_capacity);
  }

  /** Adds the next value; returns its approximate size in bytes. */
  final long read(BinaryDecoder decoder)
      throws IOException {
    if (_count == _capacity) {
      _capacity = larger(_capacity, 1);
      _validity = Arrays.copyOf(_validity, bytesOfBits(_capacity));
      grow(_capacity);
    }
    if (_branches > 0) {
      int branch = decoder.readIndex();
      if (branch == _nullBranch) {
        addNull(_count++);
        _nulls++;
        return NULL_BYTES;
      }
      if (branch < 0 || branch >= _branches) {
        throw new IOException("a union with " + _branches + " types has a value with index " + branch);
      }
    }
    long bytes = add(decoder, _count);
    if (_nullBranch >= 0) {
      setBit(_validity, _count);
    }
    _count++;
    return bytes;
  }

  /** Allocates new arrays for a number of values. */
  abstract void allocate(int capacity);

  /** Grows the arrays. */
  abstract void grow(int capacity);

  /** Reads a value; returns its approximate size in bytes. */
  abstract long add(BinaryDecoder decoder, int index)
      throws IOException;

  /** Adds a null; its value in the arrays is zero. */
  void addNull(int index) {
  }

  static void setBit(byte[] bits, int index) {
    bits[index >> 3] |= (byte) (1 << (index & 7));
  }

  static int bytesOfBits(int bits) {
    return (bits >> 3) + 1;
  }

  /** Returns a larger size, with room for further growth. */
  static int larger(int size, int more) {
    return (int) Math.min(Integer.MAX_VALUE - 8, Math.max(Math.addExact(size, more), size + (long) (size >> 1)));
  }
}
