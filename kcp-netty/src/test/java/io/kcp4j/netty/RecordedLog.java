package io.kcp4j.netty;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.LoggerFactory;

/** What is logged while it is open. */
public final class RecordedLog extends AppenderBase<ILoggingEvent> implements AutoCloseable {

  /** What a test locks that must not see the messages of others. */
  static final String LOCK = "root logger";

  private static final Logger ROOT =
      (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);

  private final List<ILoggingEvent> events = new CopyOnWriteArrayList<>();

  public RecordedLog() {
    start();
    ROOT.addAppender(this);
  }

  @Override
  protected void append(ILoggingEvent event) {
    events.add(event);
  }

  List<ILoggingEvent> of(Level level) {
    return events.stream().filter(event -> event.getLevel() == level).toList();
  }

  public List<String> messages(Level level) {
    return of(level).stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Override
  public void close() {
    ROOT.detachAppender(this);
  }
}
