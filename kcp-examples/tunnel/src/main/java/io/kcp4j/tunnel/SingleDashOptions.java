package io.kcp4j.tunnel;

import java.util.Map;
import java.util.Stack;
import picocli.CommandLine.IParameterPreprocessor;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;

/** Accepts long options with one dash too, as Go programs do: {@code -mode fast3}. */
final class SingleDashOptions implements IParameterPreprocessor {

  @Override
  @SuppressWarnings("JdkObsolete") // picocli's Stack.
  public boolean preprocess(
      Stack<String> arguments, CommandSpec command, ArgSpec option, Map<String, Object> info) {
    arguments.replaceAll(argument -> withTwoDashes(argument, command));
    return false; // picocli goes on.
  }

  private static String withTwoDashes(String argument, CommandSpec command) {
    if (argument.length() < 3 || argument.charAt(0) != '-' || argument.charAt(1) == '-') {
      return argument;
    }
    int equals = argument.indexOf('=');
    String name = "-" + (equals < 0 ? argument : argument.substring(0, equals));
    return command.findOption(name) == null ? argument : "-" + argument;
  }
}
