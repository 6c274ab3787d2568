package io.pinotplugins.avro;

import java.io.IOException;
import java.util.Arrays;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/**
 * Values of one type, some of them perhaps null, in arrays as Arrow has them. Each batch is in arrays of its own, which
 * whoever takes them may keep.
 */
public abstract class Values {
  private static final int LEAST_CAPACITY = 1024;
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

  /** Returns values of a type, which may be a union with null, that {@link ColumnType} does not call otherwise. */
  static Values of(Schema schema) {
    Schema type = ColumnType.withoutNull(schema);
    switch (type.getType()) {
      case BOOLEAN:
        return new NumberValues.Booleans(schema);
      case INT:
        return new NumberValues.Ints(schema);
      case LONG:
        return new NumberValues.Longs(schema);
      case FLOAT:
        return new NumberValues.Floats(schema);
      case DOUBLE:
        return new NumberValues.Doubles(schema);
      case STRING:
      case BYTES:
        return new TextValues(schema);
      case ENUM:
        return new TextValues.Symbols(schema, type);
      case ARRAY:
        return new ListValues(schema, Values.of(type.getElementType()));
      default:
        throw new IllegalArgumentException("values of type " + type.getType());
    }
  }

  /** Returns how many values there are, null ones included. */
  public final int count() {
    return _count;
  }

  /** Returns how many of them are null. */
  public final int nulls() {
    return _nulls;
  }

  /** Returns a bit for each value, set where it is not null; of no meaning where none is null. */
  public final byte[] validity() {
    return _validity;
  }

  /** Returns Arrow's buffers behind the validity, as arrays that may be longer than their content. */
  public abstract Object[] buffers();

  /** Returns the values in the lists; null where the values are no lists. */
  public Values items() {
    return null;
  }

  /** Begins a batch, of which is expected that it is as large as the last. */
  void begin() {
    _capacity = Math.max(LEAST_CAPACITY, _count);
    _validity = new byte[bytesOfBits(_capacity)];
    _count = 0;
    _nulls = 0;
    allocate(_capacity);
  }

  /** Adds the next value; returns roughly how many bytes it takes here. */
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
        throw new IOException("a union of " + _branches + " types has a value of type " + branch);
      }
    }
    long bytes = add(decoder, _count);
    if (_nullBranch >= 0) {
      setBit(_validity, _count);
    }
    _count++;
    return bytes;
  }

  /** Makes new arrays for that many values. */
  abstract void allocate(int capacity);

  /** Makes room for more values. */
  abstract void grow(int capacity);

  /** Reads a value into its place; returns roughly how many bytes it takes. */
  abstract long add(BinaryDecoder decoder, int place)
      throws IOException;

  /** Fills the place of a null; it has zeros. */
  void addNull(int place) {
  }

  static void setBit(byte[] bits, int place) {
    bits[place >> 3] |= (byte) (1 << (place & 7));
  }

  static int bytesOfBits(int bits) {
    return (bits >> 3) + 1;
  }

  /** Returns a size that has room for more, and for that much again soon. */
  static int larger(int size, int more) {
    return (int) Math.min(Integer.MAX_VALUE - 8, Math.max(Math.addExact(size, more), size + (long) (size >> 1)));
  }
}
