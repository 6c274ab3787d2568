package io.pinotplugins.v0_11.broker;

import java.util.Map;
import org.apache.pinot.common.request.DataSource;
import org.apache.pinot.common.request.Expression;
import org.apache.pinot.common.request.PinotQuery;
import org.apache.pinot.common.utils.request.RequestUtils;
import org.apache.pinot.sql.parsers.CalciteSqlParser;
import org.apache.pinot.sql.parsers.rewriter.QueryRewriter;

/** Adds the condition of a version; called in the thread that compiles the query, once for each SELECT. */
public final class VersionRewriter implements QueryRewriter {
    private final QueryPolicy policy;

    /** The last compiled condition, by its SQL; the same one is usually needed again. */
    private volatile Map.Entry<String, Expression> compiled = Map.entry("", new Expression());

    VersionRewriter(QueryPolicy policy) {
        this.policy = policy;
    }

    @Override
    public PinotQuery rewrite(PinotQuery query) {
        DataSource source = query.getDataSource();
        if (source == null || source.getSubquery() != null) {
            return query; // the inner SELECT has already been rewritten
        }
        String name = source.getTableName();
        String table = name.substring(name.lastIndexOf('.') + 1);
        String condition = policy.condition(table, BrokerQueries.current());
        if (condition != null) {
            query.setFilterExpression(and(query.getFilterExpression(), expression(condition)));
        }
        return query;
    }

    private Expression expression(String condition) {
        Map.Entry<String, Expression> last = compiled;
        if (!last.getKey().equals(condition)) {
            last = Map.entry(condition, CalciteSqlParser.compileToExpression(condition));
            compiled = last;
        }
        return last.getValue().deepCopy();
    }

    private static Expression and(Expression present, Expression condition) {
        if (present == null) {
            return condition;
        }
        Expression both = RequestUtils.getFunctionExpression("AND");
        both.getFunctionCall().addToOperands(present);
        both.getFunctionCall().addToOperands(condition);
        return both;
    }
}
