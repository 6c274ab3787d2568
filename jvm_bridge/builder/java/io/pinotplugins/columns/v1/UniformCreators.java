package io.pinotplugins.columns.v1;

import io.pinotplugins.columns.ColumnCreators;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.pinot.segment.local.segment.creator.impl.nullvalue.NullValueVectorCreator;
import org.apache.pinot.segment.spi.index.IndexCreator;
import org.apache.pinot.segment.spi.index.creator.CombinedInvertedIndexCreator;
import org.apache.pinot.segment.spi.index.creator.DictionaryBasedInvertedIndexCreator;
import org.apache.pinot.segment.spi.index.creator.ForwardIndexCreator;

/** The creators of one column in Pinot 1; those that only need ids are separate from the others. */
final class UniformCreators implements ColumnCreators {
  private final boolean _isEncoded;
  private final IndexCreator[] _all;
  private final List<ForwardIndexCreator> _forward = new ArrayList<>();
  private final List<DictionaryBasedInvertedIndexCreator> _inverted = new ArrayList<>();
  private final List<IndexCreator> _others = new ArrayList<>();
  private final NullValueVectorCreator _nulls;

  UniformCreators(boolean isEncoded, IndexCreator[] creators, NullValueVectorCreator nulls) {
    _isEncoded = isEncoded;
    _all = creators;
    _nulls = nulls;
    for (IndexCreator creator : creators) {
      if (creator instanceof ForwardIndexCreator) {
        _forward.add((ForwardIndexCreator) creator);
      } else if (creator instanceof DictionaryBasedInvertedIndexCreator) { // also of a range index
        _inverted.add((DictionaryBasedInvertedIndexCreator) creator);
      } else {
        _others.add(creator);
      }
    }
  }

  @Override
  public boolean isEncoded() {
    return _isEncoded;
  }

  @Override
  public boolean takesValues() {
    return !_others.isEmpty();
  }

  @Override
  public void addIds(int[] ids, int count) {
    for (ForwardIndexCreator creator : _forward) {
      for (int i = 0; i < count; i++) {
        creator.putDictId(ids[i]);
      }
    }
    for (DictionaryBasedInvertedIndexCreator creator : _inverted) {
      for (int i = 0; i < count; i++) {
        creator.add(ids[i]);
      }
    }
  }

  @Override
  public void addValues(Object[] valueOfId, int[] ids, int count)
      throws IOException {
    for (IndexCreator creator : _others) {
      for (int i = 0; i < count; i++) {
        creator.add(valueOfId[ids[i]], ids[i]);
      }
    }
  }

  @Override
  public void addRow(Object[] values, int[] ids)
      throws IOException {
    for (ForwardIndexCreator creator : _forward) {
      creator.putDictIdMV(ids);
    }
    for (DictionaryBasedInvertedIndexCreator creator : _inverted) {
      creator.add(ids, ids.length);
    }
    for (IndexCreator creator : _others) {
      creator.add(values, ids);
    }
  }

  @Override
  public void addRaw(int[] values, int count)
      throws IOException {
    for (IndexCreator creator : _all) {
      for (int i = 0; i < count; i++) {
        if (creator instanceof ForwardIndexCreator) {
          ((ForwardIndexCreator) creator).putInt(values[i]);
        } else if (creator instanceof CombinedInvertedIndexCreator) {
          ((CombinedInvertedIndexCreator) creator).add(values[i]);
        } else {
          creator.add(values[i], -1);
        }
      }
    }
  }

  @Override
  public void addRaw(long[] values, int count)
      throws IOException {
    for (IndexCreator creator : _all) {
      for (int i = 0; i < count; i++) {
        if (creator instanceof ForwardIndexCreator) {
          ((ForwardIndexCreator) creator).putLong(values[i]);
        } else if (creator instanceof CombinedInvertedIndexCreator) {
          ((CombinedInvertedIndexCreator) creator).add(values[i]);
        } else {
          creator.add(values[i], -1);
        }
      }
    }
  }

  @Override
  public void addRaw(float[] values, int count)
      throws IOException {
    for (IndexCreator creator : _all) {
      for (int i = 0; i < count; i++) {
        if (creator instanceof ForwardIndexCreator) {
          ((ForwardIndexCreator) creator).putFloat(values[i]);
        } else if (creator instanceof CombinedInvertedIndexCreator) {
          ((CombinedInvertedIndexCreator) creator).add(values[i]);
        } else {
          creator.add(values[i], -1);
        }
      }
    }
  }

  @Override
  public void addRaw(double[] values, int count)
      throws IOException {
    for (IndexCreator creator : _all) {
      for (int i = 0; i < count; i++) {
        if (creator instanceof ForwardIndexCreator) {
          ((ForwardIndexCreator) creator).putDouble(values[i]);
        } else if (creator instanceof CombinedInvertedIndexCreator) {
          ((CombinedInvertedIndexCreator) creator).add(values[i]);
        } else {
          creator.add(values[i], -1);
        }
      }
    }
  }

  @Override
  public void addRaw(Object value)
      throws IOException {
    for (IndexCreator creator : _all) {
      creator.add(value, -1);
    }
  }

  @Override
  public void addRaw(Object[] values)
      throws IOException {
    for (IndexCreator creator : _all) {
      creator.add(values, null);
    }
  }

  @Override
  public void setNull(int row) {
    if (_nulls != null) {
      _nulls.setNull(row);
    }
  }
}
