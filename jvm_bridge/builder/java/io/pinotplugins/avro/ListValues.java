package io.pinotplugins.avro;

import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/** Arrays of values: all their items, with the offset of each array. */
final class ListValues extends VariableValues {
  private final Values _items;
  private final Items _ofFile;

  ListValues(Schema schema, Values items, Items ofFile) {
    super(schema);
    _items = items;
    _ofFile = ofFile;
  }

  @Override
  public Object[] buffers() {
    return new Object[]{offsets()};
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
  int size() {
    return _items.count();
  }

  @Override
  long add(BinaryDecoder decoder, int index)
      throws IOException {
    long bytes = Integer.BYTES;
    for (long count = decoder.readArrayStart(); count > 0; count = decoder.arrayNext()) {
      _ofFile.add(count);
      for (long i = 0; i < count; i++) {
        bytes += _items.read(decoder);
      }
    }
    end(index);
    return bytes;
  }
}
