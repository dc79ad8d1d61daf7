package io.kcp4j.tunnel;

import io.kcp4j.KcpCounters;
import io.kcp4j.command.BaseCommand;
import io.kcp4j.command.CommandFailure;
import io.kcp4j.command.HostPort;
import io.kcp4j.command.MismatchReport;
import io.kcp4j.command.TransportChoice;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.ScheduledFuture;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** An end of the tunnel, which runs until SIGTERM or Ctrl-C and then drains. */
@Command(
    preprocessor = SingleDashOptions.class,
    exitCodeList = {
      "0:stopped by SIGTERM or Ctrl-C, and all connections had ended",
      "1:failure: a port in use, an unknown host, a log that cannot be written, ...",
      "2:invalid command line or configuration file",
      "3:stopped, and connections were cut since they had not ended in time"
    })
abstract class TunnelCommand extends BaseCommand implements Callable<Integer> {

  private static final int CONNECTIONS_CUT = 3;

  /** For the end of sessions and event loops, after draining. */
  private static final int CLOSE_TIMEOUT_S = TunnelSettings.LINGER_MS / 1000 + 3;

  private static final int REFRESH_PERIOD_S = 60;

  @Spec private CommandSpec spec;

  @Mixin private TunnelOptions options;

  @Mixin private RunOptions runOptions;

  /** The defaults of this end. */
  abstract TunnelDefaults defaults();

  /**
   * Checks the options of this end.
   *
   * @throws IllegalArgumentException if one is invalid
   */
  abstract void check();

  /** How many event loops to use at most. */
  abstract int maxThreads();

  /**
   * Starts this end.
   *
   * @param threads how many event loops the group has
   */
  abstract Tunnel start(EventLoopGroup group, int threads, TunnelContext context)
      throws CommandFailure, InterruptedException;

  @Override
  protected final int shutdownTimeoutS() {
    return runOptions.drainS() + CLOSE_TIMEOUT_S;
  }

  @Override
  public final Integer call() throws Exception {
    List<String> warnings;
    TunnelSettings settings;
    try {
      warnings = applyConfigFile();
      check();
      runOptions.check();
      settings = options.settings(defaults());
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage());
    }
    try (TunnelLog log =
        TunnelLog.open(runOptions.log(), spec.commandLine().getErr(), runOptions.isQuiet())) {
      warnings.forEach(warning -> log.line("%s", warning));
      if (options.isKeyPublic()) {
        log.line("the key is kcptun's default, which everybody knows: set --key");
      }
      log.line("%s", settings);
      TransportChoice transport = runOptions.transport().resolve();
      ForwardingLimit forwarding = new ForwardingLimit(Runtime.getRuntime().maxMemory() / 4);
      return run(new TunnelContext(settings, transport, log, new TunnelStatistics(), forwarding));
    }
  }

  private List<String> applyConfigFile() {
    String file = runOptions.configFile();
    return file == null ? List.of() : new ConfigFile(Path.of(file)).apply(spec);
  }

  private int run(TunnelContext context) throws CommandFailure {
    int threads = Math.min(runOptions.threads(), maxThreads());
    EventLoopGroup group = context.transport().newGroup(threads);
    try {
      Tunnel tunnel = start(group, threads, context);
      try {
        printAddresses(tunnel.addresses());
        serve(group, tunnel, context);
        return drain(tunnel, context);
      } finally {
        tunnel.close();
      }
    } catch (InterruptedException e) {
      return 0; // While it was starting.
    } finally {
      group.shutdownGracefully(10, 2000, TimeUnit.MILLISECONDS).awaitUninterruptibly();
    }
  }

  private void printAddresses(List<InetSocketAddress> addresses) {
    addresses.forEach(
        address -> spec.commandLine().getOut().println("listening " + HostPort.format(address)));
    spec.commandLine().getOut().flush();
  }

  /** Returns when the thread is interrupted. */
  private void serve(EventLoopGroup group, Tunnel tunnel, TunnelContext context) {
    int periodS = runOptions.statisticsPeriodS();
    ScheduledFuture<?> statistics =
        periodS == 0
            ? null
            : group.scheduleAtFixedRate(
                () -> logStatistics(tunnel, context), periodS, periodS, TimeUnit.SECONDS);
    try {
      while (true) {
        TimeUnit.SECONDS.sleep(REFRESH_PERIOD_S);
        tunnel.refresh();
      }
    } catch (InterruptedException e) {
      // By SIGTERM or Ctrl-C.
    } finally {
      if (statistics != null) {
        statistics.cancel(false);
      }
    }
  }

  private static void logStatistics(Tunnel tunnel, TunnelContext context) {
    KcpCounters counters = tunnel.counters();
    context.log().line("%s", context.statistics().line(tunnel.sessions(), counters));
    MismatchReport.lines(counters).forEach(line -> context.log().line("%s", line));
  }

  /** Waits for the end of all connections, and returns the exit code. */
  private int drain(Tunnel tunnel, TunnelContext context) {
    tunnel.drain();
    TunnelStatistics statistics = context.statistics();
    context.log().line("draining: %d connections", statistics.open());
    boolean isDrained;
    try {
      isDrained = statistics.awaitNoneOpen(runOptions.drainS());
    } catch (InterruptedException e) {
      isDrained = false;
    }
    context.log().line("%s", statistics.line(tunnel.sessions(), tunnel.counters()));
    return isDrained ? 0 : CONNECTIONS_CUT;
  }
}
