package io.pinotplugins.avro;

import java.util.Arrays;
import org.apache.avro.Schema;

/** Values of any length, one behind the other, with the places where each begins. */
abstract class VariableValues extends Values {
  private int[] _offsets;

  VariableValues(Schema schema) {
    super(schema);
  }

  /** Returns where the next value begins. */
  abstract int size();

  final int[] offsets() {
    return _offsets;
  }

  /** Ends a value here. */
  final void end(int place) {
    _offsets[place + 1] = size();
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
  final void addNull(int place) {
    end(place);
  }
}
