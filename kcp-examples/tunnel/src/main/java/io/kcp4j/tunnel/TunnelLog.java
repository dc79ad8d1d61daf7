package io.kcp4j.tunnel;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.netty.internal.LogLimit;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Lines with the time, in a file or on the standard error. Thread-safe. */
final class TunnelLog implements AutoCloseable {

  /** As Go's logger writes it, and so kcptun. */
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy/MM/dd HH:mm:ss");

  /** Lines that others can cause: users of the tunnel, or peers. */
  enum Kind {
    SESSION_BEGUN,
    SESSION_FAILED,
    SESSION_ENDED,
    NO_SESSION,
    NO_TARGET
  }

  private final PrintWriter out;
  private final boolean isFile;
  private final boolean isQuiet;
  private final LongSupplier clockNs;
  private final Map<Kind, LogLimit> limits = new EnumMap<>(Kind.class);

  /** A log to a writer that stays open, with a clock of nanoseconds. */
  TunnelLog(PrintWriter out, boolean isQuiet, LongSupplier clockNs) {
    this(out, false, isQuiet, clockNs);
  }

  private TunnelLog(PrintWriter out, boolean isFile, boolean isQuiet, LongSupplier clockNs) {
    this.out = out;
    this.isFile = isFile;
    this.isQuiet = isQuiet;
    this.clockNs = clockNs;
  }

  /**
   * Opens the log.
   *
   * @param file what to append to; if empty, {@code standardError}
   * @param isQuiet whether to leave {@link #detail} out
   * @throws CommandFailure if the file cannot be written
   */
  static TunnelLog open(String file, PrintWriter standardError, boolean isQuiet)
      throws CommandFailure {
    if (file.isEmpty()) {
      return new TunnelLog(standardError, isQuiet, System::nanoTime);
    }
    try {
      var stream =
          Files.newBufferedWriter(
              Path.of(file),
              StandardCharsets.UTF_8,
              StandardOpenOption.CREATE,
              StandardOpenOption.APPEND);
      return new TunnelLog(new PrintWriter(stream, true), true, isQuiet, System::nanoTime);
    } catch (IOException e) {
      throw new CommandFailure("cannot write the log: " + CommandFailure.describe(e));
    }
  }

  /** Writes a line, formatted for {@link Locale#ROOT}. */
  synchronized void line(String format, Object... args) {
    out.println(
        LocalDateTime.now(ZoneId.systemDefault()).format(TIME)
            + " "
            + String.format(Locale.ROOT, format, args));
    out.flush();
  }

  /** Writes a line of those that can be switched off: about single connections, and statistics. */
  void detail(String format, Object... args) {
    if (!isQuiet) {
      line(format, args);
    }
  }

  /** Writes a line, but only one of its kind in ten seconds, with the number of those left out. */
  synchronized void limited(Kind kind, String format, Object... args) {
    LogLimit limit = limits.computeIfAbsent(kind, first -> new LogLimit());
    if (!limit.tryAcquire(TimeUnit.NANOSECONDS.toMicros(clockNs.getAsLong()))) {
      return;
    }
    String text = String.format(Locale.ROOT, format, args);
    long suppressed = limit.takeSuppressed();
    line("%s%s", text, suppressed == 0 ? "" : " (" + suppressed + " more were not logged)");
  }

  /**
   * Writes each line if {@link #detail} does, and otherwise {@linkplain #limited one of its kind}.
   */
  void detailOrLimited(Kind kind, String format, Object... args) {
    if (isQuiet) {
      limited(kind, format, args);
    } else {
      line(format, args);
    }
  }

  @Override
  public synchronized void close() {
    if (isFile) {
      out.close();
    }
  }
}
