package io.kcp4j.examples;

import io.kcp4j.KcpCounters;
import io.kcp4j.KcpMode;
import io.kcp4j.KcpStats;
import io.kcp4j.command.BaseCommand;
import io.kcp4j.command.MismatchReport;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.netty.KcpChannel;
import io.netty.channel.EventLoopGroup;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that uses sessions: it parses their options and provides the event loop group. */
abstract class SessionCommand extends BaseCommand implements Callable<Integer> {

  /** Shorter stalls of a simulated network make no difference, in milliseconds. */
  private static final double MAX_STALL_MS = 20;

  @Spec private CommandSpec spec;

  @Mixin private SessionOptions sessionOptions;

  /**
   * Runs the command on a group that is shut down afterwards.
   *
   * @return the exit code
   * @throws InterruptedException if the user has pressed Ctrl-C
   */
  abstract int run(EventLoopGroup group, BootstrapSettings settings) throws Exception;

  /** The default idle timeout, in seconds. */
  abstract int defaultIdleTimeoutS();

  /** The default preset. */
  KcpMode defaultMode() {
    return KcpMode.FAST2;
  }

  /** The default keys. */
  KeyRing defaultKeys() {
    return KeyRing.NONE;
  }

  /** The default forward error correction. */
  FecConfig defaultFec() {
    return FecConfig.NONE;
  }

  @Override
  public final Integer call() throws Exception {
    BootstrapSettings settings =
        sessionOptions.settings(defaultMode(), defaultIdleTimeoutS(), defaultKeys(), defaultFec());
    EventLoopGroup group = sessionOptions.transport().newGroup(threads());
    try {
      return run(group, settings);
    } catch (InterruptedException e) {
      return INTERRUPTED;
    } finally {
      group.shutdownGracefully(10, 2000, TimeUnit.MILLISECONDS).awaitUninterruptibly();
    }
  }

  /** The number of event loops. */
  int threads() {
    return 1;
  }

  /** Rejects the command line if an option's value is out of range. */
  final <T extends Comparable<T>> void requireRange(String option, T value, T min, T max) {
    if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
      throw new ParameterException(
          spec.commandLine(), option + ": " + value + " (expected: " + min + " to " + max + ")");
    }
  }

  /** Prints a line on the standard output, formatted for {@link Locale#ROOT}. */
  final void print(String format, Object... args) {
    out().println(String.format(Locale.ROOT, format, args));
    out().flush();
  }

  /** Prints a warning for each kind of mismatch with the options of peers. */
  final void printMismatches(KcpCounters counters) {
    MismatchReport.lines(counters).forEach(line -> print("%s", line));
  }

  /** Prints that the machine is busy if a simulated network has delivered a packet so late. */
  final void printStall(double stallMs) {
    if (stallMs > MAX_STALL_MS) {
      print("This machine is busy: it has delivered packets up to %.0f ms late.", stallMs);
    }
  }

  /** A snapshot of a session; for any thread but an event loop. */
  static KcpStats statsOf(KcpChannel session) {
    return session.eventLoop().submit(session::stats).syncUninterruptibly().getNow();
  }

  final PrintWriter out() {
    return spec.commandLine().getOut();
  }

  final PrintWriter err() {
    return spec.commandLine().getErr();
  }
}
