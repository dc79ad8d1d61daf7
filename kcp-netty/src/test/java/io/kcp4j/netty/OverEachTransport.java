package io.kcp4j.netty;

import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A test that runs once for each {@link TransportUnderTest} that is available, beside others of its
 * class, because most of these tests wait.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ParameterizedTest
@MethodSource("io.kcp4j.netty.TransportUnderTest#available")
@Timeout(60)
@Execution(CONCURRENT)
public @interface OverEachTransport {}
