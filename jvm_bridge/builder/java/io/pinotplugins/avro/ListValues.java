package io.pinotplugins.avro;

import java.io.IOException;
import java.util.Arrays;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/** Arrays of values: all their items, with the places where each array begins. */
final class ListValues extends Values {
  private final Values _items;
  private int[] _offsets;

  ListValues(Schema schema, Values items) {
    super(schema);
    _items = items;
  }

  @Override
  public Object[] buffers() {
    return new Object[]{_offsets};
  }

  @Override
  public Values items() {
    return _items;
  }

  @Override
  void begin() {
    _items.begin();
    super.begin();
  }

  @Override
  void allocate(int capacity) {
    _offsets = new int[capacity + 1];
  }

  @Override
  void grow(int capacity) {
    _offsets = Arrays.copyOf(_offsets, capacity + 1);
  }

  @Override
  long add(BinaryDecoder decoder, int place)
      throws IOException {
    long bytes = Integer.BYTES;
    for (long count = decoder.readArrayStart(); count > 0; count = decoder.arrayNext()) {
      for (long i = 0; i < count; i++) {
        bytes += _items.read(decoder);
      }
    }
    _offsets[place + 1] = _items.count();
    return bytes;
  }

  @Override
  void addNull(int place) {
    _offsets[place + 1] = _items.count();
  }
}
