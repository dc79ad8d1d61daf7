package io.kcp4j.examples.tunnel;

import io.kcp4j.examples.CommandFailure;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Lines with the time, in a file or on the standard error. Thread-safe. */
final class TunnelLog implements AutoCloseable {

  /** As Go's logger writes it, and so kcptun. */
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy/MM/dd HH:mm:ss");

  private final PrintWriter out;
  private final boolean isFile;
  private final boolean isQuiet;

  private TunnelLog(PrintWriter out, boolean isFile, boolean isQuiet) {
    this.out = out;
    this.isFile = isFile;
    this.isQuiet = isQuiet;
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
      return new TunnelLog(standardError, false, isQuiet);
    }
    try {
      var stream =
          Files.newBufferedWriter(
              Path.of(file),
              StandardCharsets.UTF_8,
              StandardOpenOption.CREATE,
              StandardOpenOption.APPEND);
      return new TunnelLog(new PrintWriter(stream, true), true, isQuiet);
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

  @Override
  public synchronized void close() {
    if (isFile) {
      out.close();
    }
  }
}
