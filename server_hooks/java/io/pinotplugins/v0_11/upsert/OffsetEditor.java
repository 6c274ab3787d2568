package io.pinotplugins.v0_11.upsert;

import javassist.CannotCompileException;
import javassist.expr.ExprEditor;
import javassist.expr.MethodCall;

/** Patches a consumer's loop over a batch to use the consumer's {@link RowOffset}. */
public final class OffsetEditor extends ExprEditor {
    private final String field;

    /** @param field name of the consumer's field that has its {@link RowOffset} */
    public OffsetEditor(String field) {
        this.field = field;
    }

    @Override
    public void edit(MethodCall call) throws CannotCompileException {
        if (call.getMethodName().equals("getMessageAtIndex")) {
            call.replace("{ this." + field + ".read($0, $1); $_ = $proceed($$); }");
        } else if (call.getMethodName().equals("processRow")) {
            call.replace("{ this." + field + ".write($1, this._schema); $_ = $proceed($$); }");
        }
    }
}
