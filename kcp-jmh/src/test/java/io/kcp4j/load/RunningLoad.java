package io.kcp4j.load;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A {@link Load}, or a program like it, on a thread of its own, stopped by {@link #close}. */
final class RunningLoad implements AutoCloseable {

  /** A program that runs until its input ends. */
  @FunctionalInterface
  interface Program {
    /** Returns the exit status. */
    int run(InputStream in, PrintStream out, String... args);
  }

  private static final Pattern FIELD = Pattern.compile("\"(\\w+)\":([0-9.]+)");

  private final PrintStream in;
  private final BufferedReader out;
  private final CompletableFuture<Integer> status;

  RunningLoad(String... args) throws IOException {
    this(Load::run, args);
  }

  RunningLoad(Program program, String... args) throws IOException {
    PipedInputStream stdin = new PipedInputStream();
    PipedInputStream stdout = new PipedInputStream();
    in = new PrintStream(new PipedOutputStream(stdin), true, StandardCharsets.UTF_8);
    out = new BufferedReader(new InputStreamReader(stdout, StandardCharsets.UTF_8));
    PrintStream printed =
        new PrintStream(new PipedOutputStream(stdout), true, StandardCharsets.UTF_8);
    // Not on the common pool: with two cores it has one thread from JDK 25 on.
    status =
        CompletableFuture.supplyAsync(
            () -> program.run(stdin, printed, args), task -> new Thread(task, "load").start());
  }

  String line() throws IOException {
    return out.readLine();
  }

  /** The answer to a mark. */
  String mark() throws IOException {
    in.println("mark");
    return line();
  }

  /** Requests stats until the field is more than 0. */
  double awaitPositive(String field) throws IOException {
    double value = 0;
    while (value == 0) {
      Matcher fields = FIELD.matcher(mark());
      while (fields.find()) {
        if (fields.group(1).equals(field)) {
          value = Double.parseDouble(fields.group(2));
        }
      }
    }
    return value;
  }

  @Override
  public void close() {
    in.close();
    assertEquals(0, status.join());
  }
}
