package io.pinotplugins.arrays;

import java.util.Arrays;

/** Values with variable lengths, concatenated, with their offsets. */
abstract class VariableValues extends Values {
  private int[] _offsets;

  /** Returns the offset of the next value. */
  abstract int size();

  /** Ends a value that consists of all that was added since the last one. */
  public final void end() {
    end(next());
  }

  final int[] offsets() {
    return _offsets;
  }

  @Override
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
}
