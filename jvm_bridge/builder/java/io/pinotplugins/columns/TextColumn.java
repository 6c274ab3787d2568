package io.pinotplugins.columns;

import it.unimi.dsi.fastutil.objects.ObjectOpenHashSet;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.pinot.spi.data.FieldSpec.DataType;
import org.apache.pinot.spi.utils.BigDecimalUtils;
import org.apache.pinot.spi.utils.ByteArray;

/**
 * A column whose values are read as texts or bytes: STRING or BYTES, or any type to which Pinot's own transformers
 * convert a text. Each block has its own dictionary.
 */
final class TextColumn extends Column {
  private static final int PINOTS_HASH_SET_SIZE = 1000;

  private final transient BiFunction<String, String, Object> _transformer;
  /** For each block: the ids of the texts in its own dictionary. */
  private final int[][] _idsOfTexts;
  /** The sorted distinct values: String, ByteArray, BigDecimal or Long; and the size of each in bytes. */
  private Comparable<?>[] _sorted;
  private int[] _sizes;
  private Object _values;
  private int _shortest = Integer.MAX_VALUE;
  private int _longest;

  TextColumn(String name, DataType storedType, boolean isSingle, long[] positions,
      BiFunction<String, String, Object> transformer) {
    super(name, storedType, isSingle, positions);
    _transformer = transformer;
    _idsOfTexts = new int[_blocks.length][];
  }

  @Override
  void findDistinct(ColumnFile file)
      throws IOException {
    DistinctTexts texts = new DistinctTexts();
    for (int b = 0; b < _blocks.length; b++) {
      int count = _blocks[b]._texts;
      int[] ends = file.ints(_blocks[b]._endsAt, count, file.ids(count));
      _idsOfTexts[b] = texts.addAll(file.read(_blocks[b]._textAt, count == 0 ? 0 : ends[count - 1]), ends, count);
    }
    int[] idOfText = sort(texts);
    for (int[] ids : _idsOfTexts) {
      for (int i = 0; i < ids.length; i++) {
        ids[i] = idOfText[ids[i]];
      }
    }
    fillValues();
    measure(texts, idOfText);
    _isSorted = _isSorted && areIdsSorted(file);
  }

  /** Fills the sorted values; returns the id of each text's value. */
  private int[] sort(DistinctTexts texts) {
    Comparable<?>[] values = new Comparable<?>[texts.size()];
    int[] valueOfText = new int[texts.size()];
    int count = 0;
    if (_transformer == null) {
      for (; count < values.length; count++) {
        values[count] = _storedType == DataType.BYTES ? new ByteArray(texts.bytes(count)) : texts.string(count);
        valueOfText[count] = count;
      }
    } else {
      Map<Comparable<?>, Integer> numbers = new HashMap<>();
      for (int text = 0; text < valueOfText.length; text++) {
        Comparable<?> value = transformed(texts.string(text));
        Integer number = numbers.putIfAbsent(value, count);
        if (number == null) {
          number = count;
          values[count++] = value;
        }
        valueOfText[text] = number;
      }
    }
    int[] order;
    if (_storedType == DataType.BIG_DECIMAL) {
      order = sortDecimals(values, count);
    } else if (_storedType == DataType.STRING && _transformer == null && !texts.hasLongCharacters()) {
      order = TextOrder.of(texts);
    } else {
      order = Ranking.sort(values, count);
    }
    int[] ids = new int[count];
    _sorted = new Comparable<?>[count];
    for (int id = 0; id < count; id++) {
      _sorted[id] = values[order[id]];
      ids[order[id]] = id;
    }
    for (int text = 0; text < valueOfText.length; text++) {
      valueOfText[text] = ids[valueOfText[text]];
    }
    return valueOfText;
  }

  /**
   * Sorts as Pinot does: decimals that differ only in trailing zeros are equal for the sort, which leaves them in the
   * order of Pinot's hash set.
   */
  private static int[] sortDecimals(Comparable<?>[] values, int count) {
    Map<Object, Integer> indexes = new HashMap<>();
    ObjectOpenHashSet<BigDecimal> set = new ObjectOpenHashSet<>(PINOTS_HASH_SET_SIZE);
    for (int i = 0; i < count; i++) {
      set.add((BigDecimal) values[i]);
      indexes.put(values[i], i);
    }
    BigDecimal[] sorted = set.toArray(new BigDecimal[0]);
    Arrays.sort(sorted);
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      order[i] = indexes.get(sorted[i]);
    }
    return order;
  }

  private Comparable<?> transformed(String text) {
    Object value = _transformer.apply(_name, text);
    if (value == null) {
      throw new IllegalStateException("Pinot converts a text of column " + _name + " to null");
    }
    return (Comparable<?>) value;
  }

  private void fillValues() {
    int count = _sorted.length;
    switch (_storedType) {
      case STRING:
        _values = Arrays.copyOf(_sorted, count, String[].class);
        break;
      case BYTES:
        _values = Arrays.copyOf(_sorted, count, ByteArray[].class);
        break;
      case BIG_DECIMAL:
        _values = Arrays.copyOf(_sorted, count, BigDecimal[].class);
        break;
      case LONG:
        long[] longs = new long[count];
        for (int i = 0; i < count; i++) {
          longs[i] = (Long) _sorted[i];
        }
        _values = longs;
        break;
      default:
        throw new IllegalStateException("texts cannot be converted to " + _storedType);
    }
  }

  private void measure(DistinctTexts texts, int[] idOfText) {
    if (_storedType == DataType.LONG) {
      return;
    }
    _sizes = new int[_sorted.length];
    if (_transformer == null) { // the values are the distinct texts
      for (int text = 0; text < idOfText.length; text++) {
        _sizes[idOfText[text]] = texts.length(text);
      }
    }
    for (int id = 0; id < _sizes.length; id++) {
      if (_transformer != null) {
        _sizes[id] = size(_sorted[id]);
      }
      _shortest = Math.min(_shortest, _sizes[id]);
      _longest = Math.max(_longest, _sizes[id]);
    }
  }

  /** Returns the size in bytes of a value from a transformer: JSON, which is a string, or a decimal. */
  private int size(Object value) {
    return _storedType == DataType.STRING
        ? ((String) value).getBytes(StandardCharsets.UTF_8).length
        : BigDecimalUtils.byteSize((BigDecimal) value);
  }

  private boolean areIdsSorted(ColumnFile file)
      throws IOException {
    int last = 0;
    for (int b = 0; b < _blocks.length; b++) {
      int[] ids = ids(file, b);
      for (int i = 0; i < _blocks[b]._values; i++) {
        if (ids[i] < last && compare(ids[i], last) < 0) {
          return false;
        }
        last = ids[i];
      }
    }
    return true;
  }

  @SuppressWarnings("unchecked")
  private int compare(int id, int other) {
    return ((Comparable<Object>) _sorted[id]).compareTo(_sorted[other]);
  }

  @Override
  int[] ids(ColumnFile file, int block)
      throws IOException {
    int count = _blocks[block]._values;
    int[] ids = file.ints(_blocks[block]._valuesAt, count, file.ids(count));
    int[] idsOfTexts = _idsOfTexts[block];
    for (int i = 0; i < count; i++) {
      ids[i] = idsOfTexts[ids[i]];
    }
    return ids;
  }

  @Override
  void release() {
    Arrays.fill(_idsOfTexts, null);
  }

  @Override
  void indexRaw(ColumnFile file, int block, ColumnCreators creators)
      throws IOException {
    int count = _blocks[block]._values;
    int[] ids = ids(file, block);
    if (_storedType == DataType.LONG) {
      long[] longs = new long[count];
      for (int i = 0; i < count; i++) {
        longs[i] = (Long) _sorted[ids[i]];
      }
      creators.addRaw(longs, count);
      return;
    }
    for (int i = 0; i < count; i++) {
      creators.addRaw(plain(_sorted[ids[i]]));
    }
  }

  private static Object plain(Object value) {
    return value instanceof ByteArray ? ((ByteArray) value).getBytes() : value;
  }

  @Override
  Object[] box() {
    Object[] boxed = new Object[_sorted.length];
    for (int i = 0; i < boxed.length; i++) {
      boxed[i] = plain(_sorted[i]);
    }
    return boxed;
  }

  @Override
  int sizeOf(int id) {
    return _sizes == null ? 0 : _sizes[id];
  }

  @Override
  public Comparable<?> getMinValue() {
    return _sorted[0];
  }

  @Override
  public Comparable<?> getMaxValue() {
    return _sorted[_sorted.length - 1];
  }

  @Override
  public Object getUniqueValuesSet() {
    return _values;
  }

  @Override
  public int getCardinality() {
    return _sorted.length;
  }

  @Override
  public int getLengthOfShortestElement() {
    boolean isKnown = _sizes != null && (_storedType != DataType.STRING || HAS_ALL_LENGTHS);
    return isKnown ? _shortest : super.getLengthOfShortestElement();
  }

  @Override
  public int getLengthOfLargestElement() {
    return _sizes == null ? super.getLengthOfLargestElement() : _longest;
  }

  /** Whether a column of strings has only ASCII characters; Pinot asks for it since 1.6. */
  public boolean isAscii() {
    for (int id = 0; id < _sorted.length; id++) {
      if (_storedType != DataType.STRING || ((String) _sorted[id]).length() != _sizes[id]) {
        return false;
      }
    }
    return true;
  }
}
