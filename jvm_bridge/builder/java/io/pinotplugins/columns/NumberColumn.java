package io.pinotplugins.columns;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.pinot.spi.data.FieldSpec.DataType;

/**
 * A column of INT, LONG, FLOAT or DOUBLE. Internally its values are longs that sort as Java sorts the values: for
 * floating-point numbers their bits, inverted for negative ones, and a single NaN.
 */
final class NumberColumn extends Column {
  private long[] _sorted;
  /** Only exists while the rows are indexed, as the statistics of all columns are in memory at the same time. */
  private transient DistinctNumbers _ranks;
  private Object _values;
  /** The bits of NaN: arbitrary until all values are read, then those of the first NaN. */
  private long _nan;

  NumberColumn(String name, DataType storedType, boolean isSingle, long[] positions) {
    super(name, storedType, isSingle, positions);
    _nan = storedType == DataType.FLOAT ? Float.floatToIntBits(Float.NaN) : Double.doubleToLongBits(Double.NaN);
  }

  private int width() {
    return _storedType == DataType.INT || _storedType == DataType.FLOAT ? 4 : 8;
  }

  private long[] numbers(ColumnFile file, int block)
      throws IOException {
    int count = _blocks[block]._values;
    long[] numbers = file.numbers(count);
    ByteBuffer bytes = file.read(_blocks[block]._valuesAt, (long) width() * count);
    switch (_storedType) {
      case INT:
        for (int i = 0; i < count; i++) {
          numbers[i] = bytes.getInt(4 * i);
        }
        break;
      case LONG:
        bytes.asLongBuffer().get(numbers, 0, count);
        break;
      case FLOAT:
        for (int i = 0; i < count; i++) {
          numbers[i] = number(bytes.getFloat(4 * i));
        }
        break;
      default:
        for (int i = 0; i < count; i++) {
          numbers[i] = number(bytes.getDouble(8 * i));
        }
    }
    return numbers;
  }

  private static long number(float value) {
    int bits = Float.floatToIntBits(value);
    return bits ^ ((bits >> 31) & Integer.MAX_VALUE);
  }

  private static long number(double value) {
    long bits = Double.doubleToLongBits(value);
    return bits ^ ((bits >> 63) & Long.MAX_VALUE);
  }

  private float asFloat(long number) {
    int bits = (int) number;
    float value = Float.intBitsToFloat(bits ^ ((bits >> 31) & Integer.MAX_VALUE));
    return Float.isNaN(value) ? Float.intBitsToFloat((int) _nan) : value;
  }

  private double asDouble(long number) {
    double value = Double.longBitsToDouble(number ^ ((number >> 63) & Long.MAX_VALUE));
    return Double.isNaN(value) ? Double.longBitsToDouble(_nan) : value;
  }

  /** Stores the bits of the first NaN, as Pinot's hash set keeps the first value. */
  private void findNan(ColumnFile file)
      throws IOException {
    for (Block block : _blocks) {
      ByteBuffer bytes = file.read(block._valuesAt, (long) width() * block._values);
      for (int i = 0; i < block._values; i++) {
        if (_storedType == DataType.FLOAT && Float.isNaN(bytes.getFloat(4 * i))) {
          _nan = bytes.getInt(4 * i);
          return;
        }
        if (_storedType == DataType.DOUBLE && Double.isNaN(bytes.getDouble(8 * i))) {
          _nan = bytes.getLong(8 * i);
          return;
        }
      }
    }
  }

  private boolean isNan(long number) {
    return _storedType == DataType.FLOAT && number > number(Float.POSITIVE_INFINITY)
        || _storedType == DataType.DOUBLE && number > number(Double.POSITIVE_INFINITY);
  }

  @Override
  void findDistinct(ColumnFile file)
      throws IOException {
    long min = Long.MAX_VALUE;
    long max = Long.MIN_VALUE;
    long last = Long.MIN_VALUE;
    for (int b = 0; b < _blocks.length; b++) {
      long[] numbers = numbers(file, b);
      int count = _blocks[b]._values;
      for (int i = 0; i < count; i++) {
        min = Math.min(min, numbers[i]);
        max = Math.max(max, numbers[i]);
      }
      if (_isSorted && count > 0) {
        _isSorted = isSorted(last, numbers, count);
        last = numbers[count - 1];
      }
    }
    DistinctNumbers distinct = new DistinctNumbers(min, max, _entries);
    for (int b = 0; b < _blocks.length; b++) {
      distinct.addAll(numbers(file, b), _blocks[b]._values);
    }
    _sorted = distinct.sorted();
    if (isNan(_sorted[_sorted.length - 1])) {
      findNan(file);
    }
    _values = values();
  }

  /** For floating-point numbers, both zeros are equal, and no number is greater than or equal to NaN. */
  private boolean isSorted(long before, long[] numbers, int count) {
    long last = before;
    switch (_storedType) {
      case INT:
      case LONG:
        for (int i = 0; i < count; i++) {
          if (numbers[i] < last) {
            return false;
          }
          last = numbers[i];
        }
        return true;
      default:
        boolean isFloat = _storedType == DataType.FLOAT;
        double lastValue = last == Long.MIN_VALUE ? Double.NEGATIVE_INFINITY : isFloat ? asFloat(last) : asDouble(last);
        for (int i = 0; i < count; i++) {
          double value = isFloat ? asFloat(numbers[i]) : asDouble(numbers[i]);
          if (!(value >= lastValue)) {
            return false;
          }
          lastValue = value;
        }
        return true;
    }
  }

  private Object values() {
    int count = _sorted.length;
    switch (_storedType) {
      case INT:
        int[] ints = new int[count];
        for (int i = 0; i < count; i++) {
          ints[i] = (int) _sorted[i];
        }
        return ints;
      case LONG:
        return _sorted;
      case FLOAT:
        float[] floats = new float[count];
        for (int i = 0; i < count; i++) {
          floats[i] = asFloat(_sorted[i]);
        }
        return floats;
      default:
        double[] doubles = new double[count];
        for (int i = 0; i < count; i++) {
          doubles[i] = asDouble(_sorted[i]);
        }
        return doubles;
    }
  }

  @Override
  int[] ids(ColumnFile file, int block)
      throws IOException {
    int count = _blocks[block]._values;
    if (_ranks == null) {
      _ranks = DistinctNumbers.ranked(_sorted, _entries);
    }
    int[] ids = file.ids(count);
    _ranks.ranks(numbers(file, block), count, ids);
    return ids;
  }

  @Override
  void release() {
    _ranks = null;
  }

  @Override
  void indexRaw(ColumnFile file, int block, ColumnCreators creators)
      throws IOException {
    int count = _blocks[block]._values;
    ByteBuffer bytes = file.read(_blocks[block]._valuesAt, (long) width() * count);
    switch (_storedType) {
      case INT:
        int[] ints = new int[count];
        bytes.asIntBuffer().get(ints);
        creators.addRaw(ints, count);
        break;
      case LONG:
        long[] longs = new long[count];
        bytes.asLongBuffer().get(longs);
        creators.addRaw(longs, count);
        break;
      case FLOAT:
        float[] floats = new float[count];
        bytes.asFloatBuffer().get(floats);
        creators.addRaw(floats, count);
        break;
      default:
        double[] doubles = new double[count];
        bytes.asDoubleBuffer().get(doubles);
        creators.addRaw(doubles, count);
    }
  }

  @Override
  Object[] box() {
    Object[] boxed = new Object[_sorted.length];
    for (int i = 0; i < boxed.length; i++) {
      boxed[i] = box(i);
    }
    return boxed;
  }

  private Comparable<?> box(int id) {
    switch (_storedType) {
      case INT:
        return (int) _sorted[id];
      case LONG:
        return _sorted[id];
      case FLOAT:
        return asFloat(_sorted[id]);
      default:
        return asDouble(_sorted[id]);
    }
  }

  @Override
  int sizeOf(int id) {
    return 0;
  }

  @Override
  public Comparable<?> getMinValue() {
    return box(0);
  }

  @Override
  public Comparable<?> getMaxValue() {
    return box(_sorted.length - 1);
  }

  @Override
  public Object getUniqueValuesSet() {
    return _values;
  }

  @Override
  public int getCardinality() {
    return _sorted.length;
  }
}
