package io.kcp4j.examples;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** An {@link EndingPeer} as a process, and its events. */
final class EndingProcess implements AutoCloseable {

  private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(40);
  private static final int SHOWN_EVENTS = 15;
  private static final Pattern EVENT = Pattern.compile("\\d+ .*");

  private final Process process;
  private final Writer commands;
  private final List<EndingEvent> events = new ArrayList<>();
  private boolean hasEnded;

  /**
   * Starts a peer.
   *
   * @param prefix the words before the command {@code java}, which choose a host
   */
  EndingProcess(
      List<String> prefix,
      EndingCarrier carrier,
      String host,
      int port,
      Set<EndingSetting> settings)
      throws IOException {
    List<String> command = new ArrayList<>(prefix);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-Xmx256m"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(EndingPeer.class.getName(), carrier.name(), host, "" + port));
    command.add(settings.stream().map(Enum::name).collect(Collectors.joining(",")));
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    commands = process.outputWriter();
    Thread reader = new Thread(this::readAll, "events of " + process.pid());
    reader.setDaemon(true);
    reader.start();
  }

  private void readAll() {
    try (BufferedReader lines = process.inputReader()) {
      for (String line; (line = lines.readLine()) != null; ) {
        if (EVENT.matcher(line).matches()) {
          add(EndingEvent.parse(line));
        }
      }
    } catch (IOException e) {
      // It was killed.
    }
    end();
  }

  private synchronized void add(EndingEvent event) {
    events.add(event);
    notifyAll();
  }

  private synchronized void end() {
    hasEnded = true;
    notifyAll();
  }

  /** Sends a command, and returns the event of its execution. */
  EndingEvent run(String command) {
    int before = count();
    try {
      commands.write(command + "\n");
      commands.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(this + " has ended", e);
    }
    String name = command.split(" ", -1)[0];
    return await("the command " + name, before, event -> event.name().equals(name));
  }

  private synchronized int count() {
    return events.size();
  }

  /** The first event of this kind, which may have come already. */
  EndingEvent await(String what, Predicate<EndingEvent> condition) {
    return await(what, 0, condition);
  }

  private synchronized EndingEvent await(String what, int from, Predicate<EndingEvent> condition) {
    long beginNs = System.nanoTime();
    for (int i = from; ; i++) {
      while (i == events.size()) {
        long leftNs = LIMIT_NS - (System.nanoTime() - beginNs);
        if (hasEnded || leftNs <= 0) {
          throw new AssertionError("no event: " + what + "\n" + this);
        }
        try {
          wait(Math.max(1, TimeUnit.NANOSECONDS.toMillis(leftNs)));
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      if (condition.test(events.get(i))) {
        return events.get(i);
      }
    }
  }

  /** The first event by which the application learns of the end of a session. */
  EndingEvent awaitEnd(int session) {
    return await("the end of session " + session, event -> event.isOf(session) && event.isEnd());
  }

  /** The time at which the process is killed. */
  long kill() throws InterruptedException {
    long atNs = System.nanoTime();
    process.destroyForcibly().waitFor();
    return atNs;
  }

  /** Sends a signal, and returns the time. */
  long signal(String name) throws IOException, InterruptedException {
    Process kill = new ProcessBuilder("kill", "-" + name, "" + process.pid()).start();
    if (kill.waitFor() != 0) {
      throw new IOException("kill -" + name + " " + process.pid());
    }
    return System.nanoTime();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  @Override
  public synchronized String toString() {
    int from = Math.max(0, events.size() - SHOWN_EVENTS);
    String shown =
        events.subList(from, events.size()).stream()
            .map(EndingEvent::toString)
            .collect(Collectors.joining("\n  "));
    return "process " + process.pid() + (hasEnded ? ", which has ended:" : ":") + "\n  " + shown;
  }
}
