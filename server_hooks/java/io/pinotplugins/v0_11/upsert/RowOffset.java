package io.pinotplugins.v0_11.upsert;

import io.pinotplugins.upsert.SystemColumns;
import org.apache.pinot.spi.data.Schema;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.stream.LongMsgOffset;
import org.apache.pinot.spi.stream.MessageBatch;

/** The offset of the message that a consumer has in hand; used by its thread alone. */
public final class RowOffset {
    private long offset;

    /** A message is about to be decoded. */
    public void read(MessageBatch<?> batch, int index) {
        LongMsgOffset next = (LongMsgOffset) batch.getNextStreamPartitionMsgOffsetAtIndex(index);
        offset = next.getOffset() - 1;
    }

    /** A row of that message is about to be indexed. */
    public void write(GenericRow row, Schema schema) {
        if (schema.hasColumn(SystemColumns.OFFSET)) {
            row.putValue(SystemColumns.OFFSET, offset);
        }
    }
}
