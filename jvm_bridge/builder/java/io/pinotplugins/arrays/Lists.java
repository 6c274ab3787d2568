package io.pinotplugins.arrays;

/** Lists of values: all their items, with the offset of each list. */
public final class Lists extends VariableValues {
  private final Values _items;

  public Lists(Values items) {
    _items = items;
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
  public void begin() {
    _items.begin();
    super.begin();
  }

  @Override
  int size() {
    return _items.count();
  }
}
