package io.pinotplugins.avro;

import java.util.Arrays;
import org.apache.avro.Schema;

/** Values with variable lengths, concatenated, with their offsets. */
abstract class VariableValues extends Values {
  private int[] _offsets;

  VariableValues(Schema schema) {
    super(schema);
  }

  /** Returns the offset of the next value. */
  abstract int size();

  final int[] offsets() {
    return _offsets;
  }

  /** Ends a value at the current size. */
  final void end(int index) {
    _offsets[index + 1] = size();
  }

  @Override
  void allocate(int capacity) {
    _offsets = new int[capacity + 1];
  }

  @Override
  final void grow(int capacity) {
    _offsets = Arrays.copyOf(_offsets, capacity + 1);
  }

  @Override
  final void addNull(int index) {
    end(index);
  }
}
