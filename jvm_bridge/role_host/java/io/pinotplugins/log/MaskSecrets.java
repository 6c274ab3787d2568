package io.pinotplugins.log;

import java.util.regex.Pattern;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.rewrite.RewritePolicy;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.message.SimpleMessage;

/** Masks secrets in messages, and in the messages of exceptions. */
public final class MaskSecrets implements RewritePolicy {
    /** Causes may be circular. */
    private static final int MAX_DEPTH = 20;

    private final Pattern secrets;
    private final String masked;

    /**
     * @param secrets the pattern of secrets, with groups before them
     * @param masked the replacement
     */
    public MaskSecrets(String secrets, String masked) {
        this.secrets = Pattern.compile(secrets);
        this.masked = masked;
    }

    @Override
    public LogEvent rewrite(LogEvent event) {
        String text = event.getMessage().getFormattedMessage();
        String shown = mask(text);
        Throwable thrown = event.getThrown();
        boolean isSecretThrown = shows(thrown, 0);
        if (!isSecretThrown && (text == null || text.equals(shown))) {
            return event;
        }
        Log4jLogEvent.Builder builder = new Log4jLogEvent.Builder(event).setMessage(new SimpleMessage(shown));
        if (isSecretThrown) {
            builder.setThrown(copy(thrown, 0)).setThrownProxy(null);
        }
        return builder.build();
    }

    private String mask(String text) {
        return text == null ? null : secrets.matcher(text).replaceAll(masked);
    }

    private boolean shows(Throwable thrown, int depth) {
        if (thrown == null || depth > MAX_DEPTH) {
            return false;
        }
        String text = thrown.getMessage();
        if (text != null && !text.equals(mask(text))) {
            return true;
        }
        for (Throwable suppressed : thrown.getSuppressed()) {
            if (shows(suppressed, depth + 1)) {
                return true;
            }
        }
        return shows(thrown.getCause(), depth + 1);
    }

    /** Returns a copy, as exceptions cannot be changed; its message has the original class name. */
    private Throwable copy(Throwable thrown, int depth) {
        if (thrown == null || depth > MAX_DEPTH) {
            return null;
        }
        Throwable made = new Throwable(mask(thrown.toString()), copy(thrown.getCause(), depth + 1));
        made.setStackTrace(thrown.getStackTrace());
        for (Throwable suppressed : thrown.getSuppressed()) {
            Throwable other = copy(suppressed, depth + 1);
            if (other != null) {
                made.addSuppressed(other);
            }
        }
        return made;
    }
}
