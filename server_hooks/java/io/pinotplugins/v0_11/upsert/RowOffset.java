package io.pinotplugins.v0_11.upsert;

import io.pinotplugins.upsert.SystemColumns;
import org.apache.pinot.spi.data.Schema;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.stream.LongMsgOffset;
import org.apache.pinot.spi.stream.MessageBatch;

/** The offset of a consumer's current message; used only by its thread. */
public final class RowOffset {
    private long offset;

    /** Called before a message is decoded. */
    public void read(MessageBatch<?> batch, int index) {
        LongMsgOffset next = (LongMsgOffset) batch.getNextStreamPartitionMsgOffsetAtIndex(index);
        offset = next.getOffset() - 1;
    }

    /** Called before a row of that message is indexed. */
    public void write(GenericRow row, Schema schema) {
        if (schema.hasColumn(SystemColumns.OFFSET)) {
            row.putValue(SystemColumns.OFFSET, offset);
        }
    }
}
