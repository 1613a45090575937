-- The orders of one day.
CREATE TEMPORARY VIEW orders AS
SELECT * FROM VALUES
    ('ann', DATE '2026-01-31', 1.50), ('bob', DATE '2026-01-31', 2.25), ('ann', DATE '2026-01-31', 3.00)
    AS orders(name, day, amount);

SELECT name, count(*) AS orders, sum(amount) AS total
FROM orders
WHERE day = :day
GROUP BY name
ORDER BY name
